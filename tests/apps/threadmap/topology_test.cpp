// What the kernel's files say of a node is read as they say it, and nothing is guessed.
#include "apps/threadmap/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "tests/apps/threadmap/fake_node.hpp"

namespace pinstudy::threadmap {
namespace {

using testing::FakeNode;

const Cpus kTen = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

Topology topology_of(const FakeNode& node, const std::string& kinds = "",
                     const Cpus& allowed = kTen) {
    return read_topology(KernelFiles(node.root()), kinds, allowed);
}

// Two P-cores with two CPUs each, two modules of two E-cores, two LP-E-cores without an L3 cache.
void write_hybrid(FakeNode& node) {
    node.core("0-1").core("2-3").single_cores("4-9");
    for (const char* const private_or_module : {"0-1", "2-3", "4-5", "6-7", "8-9"}) {
        node.cache(2, private_or_module);
    }
    node.cache(3, "0-7").pmu("cpu_core", "0-3").pmu("cpu_atom", "4-9");
}

std::map<std::string, Cpus> cpus_by_kind(const Topology& topology) {
    std::map<std::string, Cpus> kinds;
    for (const Core& core : topology.cores) {
        Cpus& cpus = kinds[core.kind];
        cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
    }
    return kinds;
}

void expect_untold(const Topology& topology, const std::string& because) {
    for (const Core& core : topology.cores) {
        EXPECT_EQ(core.kind, "");
    }
    EXPECT_NE(topology.kinds_evidence.find(because), std::string::npos) << topology.kinds_evidence;
    EXPECT_NE(topology.kinds_evidence.find("--kinds"), std::string::npos);
}

TEST(ReadTopology, TellsThreeKindsByPmuListsAndMissingL3) {
    FakeNode node("0-9");
    write_hybrid(node);
    const Topology topology = topology_of(node);
    EXPECT_EQ(
        cpus_by_kind(topology),
        (std::map<std::string, Cpus>{{"P", {0, 1, 2, 3}}, {"E", {4, 5, 6, 7}}, {"LP-E", {8, 9}}}));
    EXPECT_EQ(topology.allowed, (Cpus{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    for (const char* const word : {"cpu_core 0-3", "cpu_atom 4-9", "CPUs 8-9 have no L3"}) {
        EXPECT_NE(topology.kinds_evidence.find(word), std::string::npos) << word;
    }
}

TEST(ReadTopology, GroupsSiblingsIntoCores) {
    FakeNode node("0-9");
    write_hybrid(node);
    const Topology topology = topology_of(node);
    ASSERT_EQ(topology.cores.size(), 8u);
    EXPECT_EQ(topology.core_of(1), topology.core_of(0));
    EXPECT_EQ(topology.core_of(3)->cpus, (Cpus{2, 3}));
    EXPECT_EQ(topology.core_of(10), nullptr);
}

TEST(ReadTopology, TakesLowPowerCoresFromTheirOwnPmu) {
    FakeNode node("0-5");
    node.single_cores("0-5").cache(3, "0-3");
    node.pmu("cpu_core", "0-1").pmu("cpu_atom", "2-3").pmu("cpu_lowpower", "4-5");
    EXPECT_EQ(cpus_by_kind(topology_of(node)),
              (std::map<std::string, Cpus>{{"P", {0, 1}}, {"E", {2, 3}}, {"LP-E", {4, 5}}}));
}

TEST(ReadTopology, FindsPmuListsInEitherDirectory) {
    FakeNode node("0-1");
    node.single_cores("0-1").pmu("cpu_core", "1");
    node.file("sys/devices/cpu_atom/cpus", "0");
    EXPECT_EQ(cpus_by_kind(topology_of(node)),
              (std::map<std::string, Cpus>{{"P", {1}}, {"E", {0}}}));
}

TEST(ReadTopology, WithoutAnyCacheFileNoCoreIsLowPower) {
    FakeNode node("0-1");
    node.single_cores("0-1").pmu("cpu_core", "0").pmu("cpu_atom", "1");
    EXPECT_EQ(topology_of(node).core_of(1)->kind, "E");
}

TEST(ReadTopology, DoesNotTellKindsByOneListOrNone) {
    FakeNode node("0-3");
    node.single_cores("0-3");
    expect_untold(topology_of(node), "nothing in the kernel's core PMU lists");
    node.pmu("cpu_core", "0-3").pmu("cpu_atom", "");
    expect_untold(topology_of(node), "nothing in the kernel's core PMU lists");
    // E-cores that are all offline are no second kind either.
    node.pmu("cpu_atom", "4-7");
    expect_untold(topology_of(node), "nothing in the kernel's core PMU lists");
}

TEST(ReadTopology, DoesNotUseListsThatContradictTheNode) {
    FakeNode node("0-3");
    node.single_cores("0-3").pmu("cpu_core", "0-1").pmu("cpu_atom", "1-3");
    expect_untold(topology_of(node), "overlap");
    node.pmu("cpu_atom", "2");
    expect_untold(topology_of(node), "leave out CPU 3");
    node.pmu("cpu_atom", "two and three");
    expect_untold(topology_of(node), "nothing in the kernel's core PMU lists");
}

TEST(ReadTopology, KnowsPackages) {
    FakeNode node("0-3");
    node.single_cores("0-1", 0).single_cores("2-3", 1);
    const Topology topology = topology_of(node);
    EXPECT_EQ(topology.core_of(1)->package, 0);
    EXPECT_EQ(topology.core_of(2)->package, 1);
}

TEST(ReadTopology, LeavesOutOfflineCpus) {
    FakeNode node("0,2-3");
    node.core("0-1").core("2-3");
    node.file("sys/devices/system/cpu/cpu1/online", "0");
    const Topology topology = topology_of(node, "", {0, 1, 2});
    ASSERT_EQ(topology.cores.size(), 2u);
    EXPECT_EQ(topology.cores[0].cpus, Cpus{0});
    EXPECT_EQ(topology.allowed, (Cpus{0, 2}));
}

TEST(ReadTopology, AllowedCpusDoNotHideTheOthersKinds) {
    FakeNode node("0-9");
    write_hybrid(node);
    const Topology topology = topology_of(node, "", {6, 7});
    EXPECT_EQ(topology.allowed, (Cpus{6, 7}));
    EXPECT_EQ(topology.core_of(0)->kind, "P");
    EXPECT_EQ(topology.core_of(6)->kind, "E");
}

TEST(ReadTopology, TakesTheOldNameForSiblings) {
    FakeNode node("0-1");
    for (const char* const cpu : {"0", "1"}) {
        node.file(
            "sys/devices/system/cpu/cpu" + std::string(cpu) + "/topology/thread_siblings_list",
            "0-1");
    }
    EXPECT_EQ(topology_of(node).cores.size(), 1u);
}

TEST(ReadTopology, SurvivesGarbageInEveryFile) {
    const std::string long_text(100000, 'x');
    for (const std::string& garbage : {std::string("\x01\xff;rm"), std::string("-1"), long_text,
                                       std::string("0-99999999999"), std::string("3,4,5")}) {
        FakeNode node("0-1");
        node.core("0-1").cache(3, "0-1");
        for (const char* const file :
             {"topology/core_cpus_list", "topology/physical_package_id", "cache/index3/level",
              "cache/index3/type", "cache/index3/shared_cpu_list", "cache/indexx/level"}) {
            node.file("sys/devices/system/cpu/cpu0/" + std::string(file), garbage);
        }
        node.pmu("cpu_core", garbage).pmu("cpu_atom", garbage);
        const Topology topology = topology_of(node);
        EXPECT_EQ(topology.core_of(0)->cpus, Cpus{0});
        EXPECT_EQ(topology.core_of(0)->package, 0);
    }
}

TEST(ReadTopology, SaysWhenThereIsNoNode) {
    EXPECT_THROW(read_topology(KernelFiles("/nowhere"), "", {}), std::runtime_error);
    FakeNode empty("");
    EXPECT_THROW(topology_of(empty), std::runtime_error);
}

TEST(DeclaredKinds, StandInPlaceOfWhatTheFilesSay) {
    FakeNode node("0-9");
    write_hybrid(node);
    const Topology topology = topology_of(node, "E=0-3,6,P=4-5");
    EXPECT_EQ(cpus_by_kind(topology), (std::map<std::string, Cpus>{
                                          {"P", {4, 5}}, {"E", {0, 1, 2, 3, 6}}, {"", {7, 8, 9}}}));
    EXPECT_EQ(topology.kinds_evidence, "declared by --kinds E=0-3,6,P=4-5");
}

TEST(DeclaredKinds, SplitACoreWhoseSiblingsTheyTellApart) {
    FakeNode node("0-1");
    node.core("0-1");
    EXPECT_EQ(topology_of(node, "P=0,E=1").cores.size(), 2u);
}

TEST(DeclaredKinds, AreRefusedInOneSentence) {
    FakeNode node("0-3");
    node.single_cores("0-3");
    const std::map<std::string, std::string> wrong = {{"0-1", "does not start with a kind"},
                                                      {"X=0", "'X' is no core kind"},
                                                      {"P=", "no list of CPUs"},
                                                      {"P=0,P=1", "named twice"},
                                                      {"P=0-1,E=1", "both P and E"},
                                                      {"P=0-4", "CPU 4 is not online"},
                                                      {"P=a", "no list of CPUs"},
                                                      {"P=0,", "no list of CPUs"}};
    for (const auto& [text, words] : wrong) {
        try {
            topology_of(node, text);
            ADD_FAILURE() << text << " is taken";
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    }
}

TEST(ReadTopology, EveryCpuThatThisProcessMayUseHereIsInACore) {
    const Topology topology = read_topology(KernelFiles(""), "", allowed_cpus());
    EXPECT_EQ(topology.allowed, allowed_cpus());
    for (const int cpu : topology.allowed) {
        const Core* const core = topology.core_of(cpu);
        ASSERT_NE(core, nullptr) << cpu;
        EXPECT_TRUE(std::is_sorted(core->cpus.begin(), core->cpus.end()));
    }
    EXPECT_FALSE(topology.kinds_evidence.empty());
}

}  // namespace
}  // namespace pinstudy::threadmap
