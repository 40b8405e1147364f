// The runs of a plan: all are made, and what does not add up is said.
#include "apps/pingpong/match.hpp"

#include <gtest/gtest.h>

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
        EXPECT_GE(played.switches, 0);
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

}  // namespace
}  // namespace pinstudy::pingpong
