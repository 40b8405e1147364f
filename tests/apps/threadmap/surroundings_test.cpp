// CPU sets and quotas are read from either version of control groups, the least quota counts;
// variables that place threads are shown, and nothing in them can act on a terminal.
#include "apps/threadmap/surroundings.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/apps/threadmap/fake_node.hpp"

namespace pinstudy::threadmap {
namespace {

using testing::FakeNode;

Cgroup read(const FakeNode& node) {
    return read_cgroup(KernelFiles(node.root()));
}

TEST(ReadCgroup, TakesTheLeastQuotaOfVersionTwoAndOfTheGroupsAbove) {
    FakeNode node;
    node.file("proc/self/cgroup", "0::/job/step");
    node.file("sys/fs/cgroup/job/step/cpu.max", "400000 100000");
    node.file("sys/fs/cgroup/job/cpu.max", "150000 100000");
    node.file("sys/fs/cgroup/job/step/cpuset.cpus.effective", "2-3");
    const Cgroup cgroup = read(node);
    ASSERT_TRUE(cgroup.quota);
    EXPECT_DOUBLE_EQ(*cgroup.quota, 1.5);
    EXPECT_EQ(cgroup.quota_file, "/sys/fs/cgroup/job/cpu.max");
    EXPECT_EQ(cgroup.cpus, "2-3");
}

TEST(ReadCgroup, AWordForNoLimitIsNoQuota) {
    FakeNode node;
    node.file("proc/self/cgroup", "0::/");
    node.file("sys/fs/cgroup/cpu.max", "max 100000");
    EXPECT_FALSE(read(node).quota);
}

TEST(ReadCgroup, ReadsVersionOne) {
    FakeNode node;
    node.file("proc/self/cgroup", "12:cpuset:/a\n4:cpu,cpuacct:/a/b\n0::/");
    node.file("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1");
    node.file("sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000");
    node.file("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "250000");
    node.file("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000");
    node.file("sys/fs/cgroup/cpuset/cpuset.cpus", "0-7");
    const Cgroup cgroup = read(node);
    ASSERT_TRUE(cgroup.quota);
    EXPECT_DOUBLE_EQ(*cgroup.quota, 5.0);
    EXPECT_EQ(cgroup.cpus, "0-7");
    EXPECT_EQ(cgroup.cpus_file, "/sys/fs/cgroup/cpuset/cpuset.cpus");
}

TEST(ReadCgroup, SaysNothingWhereNothingCanBeRead) {
    const Cgroup none = read(FakeNode());
    EXPECT_FALSE(none.quota);
    EXPECT_EQ(none.cpus, "");
}

TEST(ReadCgroup, SurvivesGarbage) {
    FakeNode node;
    node.file("proc/self/cgroup", "garbage\n:\n::\n0::no/slash\n1:cpu:\n2:cpuset:x");
    node.file("sys/fs/cgroup/cpu.max", "-5 0");
    node.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "1e9");
    node.file("sys/fs/cgroup/cpuset/cpuset.cpus", "all");
    const Cgroup cgroup = read(node);
    EXPECT_FALSE(cgroup.quota);
    EXPECT_EQ(cgroup.cpus, "");
}

using Variables = std::vector<std::pair<std::string, std::string>>;

TEST(PlacingVariables, AreThoseOfRuntimesAndLaunchersSorted) {
    const std::array<const char*, 9> environment = {
        "SLURM_CPUS_PER_TASK=4", "PATH=/bin", "OMP_PLACES=cores", "KMP_AFFINITY=", "NO_EQUALS",
        "GOMP_SPINCOUNT=1=2",    "XOMP_=1",   "LIKWID_PIN=1,0",   nullptr};
    EXPECT_EQ(placing_variables(environment.data()), (Variables{{"GOMP_SPINCOUNT", "1=2"},
                                                                {"KMP_AFFINITY", ""},
                                                                {"LIKWID_PIN", "1,0"},
                                                                {"OMP_PLACES", "cores"},
                                                                {"SLURM_CPUS_PER_TASK", "4"}}));
    EXPECT_TRUE(placing_variables(nullptr).empty());
}

TEST(PlacingVariables, AreShownWithHarmlessCharactersOnly) {
    const std::array<const char*, 3> environment = {"OMP_\x1b[31m=\x07\n\xc3\xa4~", "OMP_A=b",
                                                    nullptr};
    EXPECT_EQ(placing_variables(environment.data()),
              (Variables{{"OMP_?[31m", "????~"}, {"OMP_A", "b"}}));
}

TEST(PlacingVariables, AreCutWhereTheyAreVeryLong) {
    const std::string entry = "OMP_A=" + std::string(5000, 'x');
    const std::array<const char*, 2> environment = {entry.c_str(), nullptr};
    EXPECT_EQ(placing_variables(environment.data()).front().second.size(), 303u);
}

}  // namespace
}  // namespace pinstudy::threadmap
