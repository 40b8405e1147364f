// A pair of CPUs: measured there, or left out with the reason.
#include "apps/pingpong/measure_pair.hpp"

#include <gtest/gtest.h>

namespace pinstudy::pingpong {
namespace {

Sampling ten_samples() {
    Sampling sampling;
    sampling.play = play_of(Method::store, false);
    sampling.sample_ns = 5e3;
    sampling.least = 10;
    sampling.most = 10;
    return sampling;
}

const Cpus kHome = allowed_cpus();

TEST(MeasuredPair, HasARunForEachDirectionAndAddress) {
    if (kHome.size() < 2) {
        GTEST_SKIP() << "needs two CPUs";
    }
    const PairPlan plan = shuffled({{kHome[0], kHome[1]}}, 2, 1).front();
    const PairResult result = measure_pair(plan, ten_samples(), kHome);
    EXPECT_EQ(result.left_out, "");
    EXPECT_FALSE(result.check_failed);
    EXPECT_EQ(result.cpus, plan.cpus);
    EXPECT_EQ(result.runs.size(), 4U);
    EXPECT_EQ(all_samples(result).size(), 40U);
}

TEST(MeasuredPair, IsLeftOutWhereAThreadCannotBePinned) {
    const PairPlan plan{{kHome[0], 65535}, {RunPlan{}}};
    const PairResult result = measure_pair(plan, ten_samples(), {kHome[0], 65535});
    EXPECT_TRUE(result.runs.empty());
    EXPECT_FALSE(result.check_failed);
    EXPECT_EQ(result.left_out,
              "a thread cannot be pinned to CPU 65535: CPUs 65535: Invalid argument");
}

TEST(MeasuredPair, IsLeftOutWhereTheProcessMayNotUseBothCpus) {
    const PairPlan plan{{kHome[0], 65535}, {RunPlan{}}};
    EXPECT_EQ(measure_pair(plan, ten_samples(), kHome).left_out,
              "CPU 65535 is none of those that the process may use (" + format_cpus(kHome) + ")");
}

TEST(MeasuredPair, IsLeftOutWhenItsThreadsDoNotGetOn) {
    const PairPlan plan{{kHome.front(), kHome.back()}, {RunPlan{}}};
    const PairResult result =
        measure_pair(plan, ten_samples(), kHome, std::chrono::milliseconds(0));
    EXPECT_TRUE(result.runs.empty());
    EXPECT_NE(result.left_out.find("something keeps"), std::string::npos) << result.left_out;
}

TEST(MeasuredPair, LeavesTheCallerWhereItWas) {
    measure_pair({{kHome[0], kHome.back()}, {RunPlan{}}}, ten_samples(), kHome);
    EXPECT_EQ(allowed_cpus(), kHome);
}

}  // namespace
}  // namespace pinstudy::pingpong
