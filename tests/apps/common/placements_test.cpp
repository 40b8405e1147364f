// Pairs of threads are put where the name of the placement says, or a reason is given.
#include "apps/common/placements.hpp"

#include <gtest/gtest.h>

#include <map>

namespace pinstudy {
namespace {

// Two P-cores with two CPUs each, four E-cores in clusters of two, two LP-E-cores in one. CPU
// numbers begin with the E-cores: kinds are ranked, not numbers.
Topology hybrid() {
    Topology topology;
    for (int cpu = 0; cpu < 4; ++cpu) {
        topology.cores.push_back({{cpu}, "E", 0, cpu / 2});
    }
    topology.cores.push_back({{4}, "LP-E", 0, 2});
    topology.cores.push_back({{5}, "LP-E", 0, 2});
    topology.cores.push_back({{6, 8}, "P", 0, -1});
    topology.cores.push_back({{7, 9}, "P", 0, -1});
    topology.allowed = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    return topology;
}

// Two packages of two cores with two CPUs each, numbered as servers do it; kinds are not known.
Topology two_packages() {
    Topology topology;
    for (int cpu = 0; cpu < 4; ++cpu) {
        topology.cores.push_back({{cpu, cpu + 4}, "", cpu % 2, cpu % 2});
    }
    topology.allowed = {0, 1, 2, 3, 4, 5, 6, 7};
    return topology;
}

Topology equal_cores(int count) {
    Topology topology;
    for (int cpu = 0; cpu < count; ++cpu) {
        topology.cores.push_back({{cpu}, "", 0, -1});
        topology.allowed.push_back(cpu);
    }
    return topology;
}

using Texts = std::map<std::string, std::string>;

// The CPUs of each placement that is possible, the reasons of the others.
Texts texts(const Topology& topology, int pairs) {
    Texts found;
    for (const Placement& placement : pair_placements(topology, pairs)) {
        EXPECT_NE(placement.cpus.empty(), placement.why_not.empty()) << placement.name;
        std::string& text = found[placement.name];
        for (const int cpu : placement.cpus) {
            text.append(text.empty() ? "" : " ").append(std::to_string(cpu));
        }
        text += placement.why_not;
    }
    return found;
}

TEST(PairPlacements, AreInOrderFromClosestToFarthest) {
    std::vector<std::string> names;
    for (const Placement& placement : pair_placements(equal_cores(1), 1)) {
        names.push_back(placement.name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"same-cpu", "siblings", "same-cluster", "cores",
                                               "across-kinds", "across-packages"}));
}

TEST(PairPlacements, OfOnePairOnAHybridNodeBeginWithThePCores) {
    EXPECT_EQ(texts(hybrid(), 1), (Texts{{"same-cpu", "6 6"},
                                         {"siblings", "6 8"},
                                         {"same-cluster", "0 1"},
                                         {"cores", "6 7"},
                                         {"across-kinds", "6 0"},
                                         {"across-packages", "the node has one package"}}));
}

TEST(PairPlacements, OfTwoPairs) {
    EXPECT_EQ(texts(hybrid(), 2), (Texts{{"same-cpu", "6 6 7 7"},
                                         {"siblings", "6 8 7 9"},
                                         {"same-cluster", "0 1 2 3"},
                                         {"cores", "2 pairs need 4 P-cores; 2 can be used"},
                                         {"across-kinds", "6 0 7 1"},
                                         {"across-packages", "the node has one package"}}));
}

TEST(PairPlacements, OfMorePairsGoOnWithLesserKindsOrSayWhatLacks) {
    EXPECT_EQ(texts(hybrid(), 3),
              (Texts{{"same-cpu", "6 6 7 7 0 0"},
                     {"siblings", "3 pairs need 3 cores with two usable CPUs; 2 can be used"},
                     {"same-cluster", "0 1 2 3 4 5"},
                     {"cores", "3 pairs need 6 P-cores; 2 can be used"},
                     {"across-kinds", "3 pairs need 3 cores of kind P; 2 can be used"},
                     {"across-packages", "the node has one package"}}));
}

TEST(PairPlacements, UseOnlyWhatIsAllowed) {
    Topology topology = hybrid();
    topology.allowed = {1, 2, 3, 8};
    EXPECT_EQ(texts(topology, 1),
              (Texts{{"same-cpu", "8 8"},
                     {"siblings", "no core has two usable CPUs (SMT is off or absent)"},
                     {"same-cluster", "2 3"},
                     {"cores", "1 pair needs 2 P-cores; 1 can be used"},
                     {"across-kinds", "8 1"},
                     {"across-packages", "the node has one package"}}));
}

TEST(PairPlacements, OnTwoPackages) {
    EXPECT_EQ(texts(two_packages(), 2),
              (Texts{{"same-cpu", "0 0 1 1"},
                     {"siblings", "0 4 1 5"},
                     {"same-cluster", "0 2 1 3"},
                     {"cores", "0 1 2 3"},
                     {"across-kinds", "the node has one core kind, as far as the kernel tells"},
                     {"across-packages", "0 1 2 3"}}));
}

TEST(PairPlacements, KeepTheOrderOfClustersWhicheverCpusAreAllowed) {
    Topology topology = equal_cores(4);
    topology.cores[0].cluster = topology.cores[3].cluster = topology.cores[1].cluster = 0;
    topology.cores.push_back({{4}, "", 0, 1});
    topology.cores.push_back({{5}, "", 0, 1});
    topology.allowed = {1, 3, 4, 5};
    EXPECT_EQ(texts(topology, 2)["same-cluster"], "1 3 4 5");
    topology.cores[4].kind = topology.cores[5].kind = "P";
    EXPECT_EQ(texts(topology, 2)["same-cluster"], "4 5 1 3");
}

TEST(PairPlacements, WithoutTheBestKindTheCoresOfTheNextCount) {
    Topology topology = hybrid();
    topology.allowed = {0, 1, 2, 4, 5};
    EXPECT_EQ(texts(topology, 1)["cores"], "0 1");
    EXPECT_EQ(texts(topology, 1)["across-kinds"], "1 pair needs 1 core of kind P; 0 can be used");
}

TEST(PairPlacements, OfANodeWithOneToldKind) {
    Topology topology = equal_cores(2);
    topology.cores[0].kind = topology.cores[1].kind = "E";
    EXPECT_EQ(texts(topology, 1)["across-kinds"], "the node has one core kind");
    EXPECT_EQ(texts(topology, 1)["cores"], "0 1");
}

TEST(PairPlacements, InAnOddClusterTheLastCoreStaysAlone) {
    Topology topology = equal_cores(8);
    for (std::size_t i = 0; i < 8; ++i) {
        topology.cores[i].cluster = i < 3 ? 0 : 1;
    }
    EXPECT_EQ(texts(topology, 3)["same-cluster"], "0 1 3 4 5 6");
    EXPECT_EQ(texts(topology, 4)["same-cluster"],
              "4 pairs need 8 neighbouring cores in clusters; 6 can be used");
}

TEST(PairPlacements, OnOneCpuOnlyTheSameCpuIsLeft) {
    EXPECT_EQ(texts(equal_cores(1), 1),
              (Texts{{"same-cpu", "0 0"},
                     {"siblings", "no core has two usable CPUs (SMT is off or absent)"},
                     {"same-cluster", "no cores share a cache that others do not"},
                     {"cores", "1 pair needs 2 cores; 1 can be used"},
                     {"across-kinds", "the node has one core kind, as far as the kernel tells"},
                     {"across-packages", "the node has one package"}}));
    EXPECT_EQ(texts(equal_cores(1), 2)["same-cpu"], "2 pairs need 2 cores; 1 can be used");
}

}  // namespace
}  // namespace pinstudy
