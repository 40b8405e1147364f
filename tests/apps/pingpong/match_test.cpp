// The runs of a plan: all are made, and what does not add up is said.
#include "apps/pingpong/match.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace pinstudy::pingpong {
namespace {

Sampling brief() {
    Sampling sampling;
    sampling.play = play_of(Method::cas, false);
    sampling.sample_ns = 1e3;
    sampling.least = 10;
    sampling.most = 10;
    return sampling;
}

TEST(Match, BothThreadsPlayAllRunsInBothDirections) {
    const std::vector<RunPlan> plan{{true, 0, 0}, {false, 1, 31}, {false, 0, 5}, {true, 1, 5}};
    const Sampling sampling = brief();
    Match match(plan, sampling);
    std::thread second([&] { match.play(1); });
    match.play(0);
    second.join();
    ASSERT_FALSE(match.pairing().given_up()) << match.pairing().reason();
    const std::vector<PlayedRun> runs = match.runs();
    ASSERT_EQ(runs.size(), plan.size());
    EXPECT_EQ(wrong_count(runs), "");
    for (const PlayedRun& played : runs) {
        EXPECT_EQ(played.run.one_way_ns.size(), 10U);
        EXPECT_GE(played.switches(), 0);
    }
}

TEST(Match, AThreadThatIsGivenUpFreesTheOther) {
    const std::vector<RunPlan> plan{{true, 0, 0}};
    const Sampling sampling = brief();
    Match match(plan, sampling);
    std::thread waiting([&] { match.play(0); });
    match.pairing().give_up("enough");
    waiting.join();
    EXPECT_EQ(match.pairing().reason(), "enough");
}

TEST(Match, ALineOutlivesTheThreadThatBeganItsRun) {
    const std::vector<RunPlan> plan{{true, 0, 3}};
    const Sampling sampling = brief();
    Match match(plan, sampling, std::chrono::milliseconds(1));
    // Nobody comes: the thread gives the pairing up, while another one could be at the line.
    match.play(0);
    ASSERT_TRUE(match.pairing().given_up());
    EXPECT_EQ(match.line().turn.load(), 0U);
}

TEST(Match, CountsThatDoNotAgreeAreSaid) {
    PlayedRun played;
    played.run.turns = 3;
    played.run.value = 6;
    played.answers = 3;
    EXPECT_EQ(wrong_count({played}), "");
    played.run.value = 5;
    EXPECT_EQ(wrong_count({played}),
              "the threads handed the line over 3 and 3 times, and it counted 5");
    played.answers = 2;
    EXPECT_EQ(wrong_count({played}),
              "the threads handed the line over 3 and 2 times, and it counted 5");
}

const Cpus kHome = allowed_cpus();

TEST(MeasuredPair, HasARunForEachDirectionAndAddress) {
    if (kHome.size() < 2) {
        GTEST_SKIP() << "needs two CPUs";
    }
    const PairPlan plan = shuffled({{kHome[0], kHome[1]}}, 2, 1).front();
    const PairResult result = measure_pair(plan, brief(), kHome);
    EXPECT_EQ(result.left_out, "");
    EXPECT_FALSE(result.check_failed);
    EXPECT_EQ(result.cpus, plan.cpus);
    EXPECT_EQ(result.runs.size(), 4U);
}

TEST(MeasuredPair, IsLeftOutWhereAThreadCannotBePinned) {
    const PairPlan plan{{kHome[0], 65535}, {RunPlan{}}};
    const PairResult result = measure_pair(plan, brief(), {kHome[0], 65535});
    EXPECT_TRUE(result.runs.empty());
    EXPECT_FALSE(result.check_failed);
    EXPECT_EQ(result.left_out,
              "a thread cannot be pinned to CPU 65535: CPUs 65535: Invalid argument");
}

TEST(MeasuredPair, IsLeftOutWhereTheProcessMayNotUseBothCpus) {
    const PairPlan plan{{kHome[0], 65535}, {RunPlan{}}};
    EXPECT_EQ(measure_pair(plan, brief(), kHome).left_out,
              "CPU 65535 is none of those that the process may use (" + format_cpus(kHome) + ")");
}

TEST(MeasuredPair, IsLeftOutWhenItsThreadsDoNotGetOn) {
    const PairPlan plan{{kHome.front(), kHome.back()}, {RunPlan{}}};
    const PairResult result = measure_pair(plan, brief(), kHome, std::chrono::milliseconds(0));
    EXPECT_TRUE(result.runs.empty());
    EXPECT_NE(result.left_out.find("something keeps"), std::string::npos) << result.left_out;
}

TEST(MeasuredPair, LeavesTheCallerWhereItWas) {
    measure_pair({{kHome[0], kHome.back()}, {RunPlan{}}}, brief(), kHome);
    EXPECT_EQ(allowed_cpus(), kHome);
}

}  // namespace
}  // namespace pinstudy::pingpong
