// Rounds are timed one by one, and their statistics are over rounds.
#include "apps/common/timing.hpp"

#include <gtest/gtest.h>

namespace pinstudy {
namespace {

// Rounds that take 1, 2, 3 … ms; the round after `last` fails.
std::function<Sample()> growing(int last = 1000) {
    return [last, round = 0]() mutable {
        ++round;
        Sample sample;
        sample.seconds = 1e-3 * round;
        sample.quantities["twice"] = 2.0 * round;
        sample.failure = round > last ? "no such CPU" : "";
        return sample;
    };
}

TEST(Timing, TellsMedianMeanAndDeviationOfTheRounds) {
    const auto timed = time_rounds(4, growing());
    ASSERT_TRUE(timed);
    EXPECT_EQ(timed->rounds, 4);
    EXPECT_NEAR(timed->ms.median, 2.5, 1e-9);
    EXPECT_NEAR(timed->ms.mean, 2.5, 1e-9);
    ASSERT_TRUE(timed->ms.sd);
    EXPECT_NEAR(*timed->ms.sd, 1.2909944487358056, 1e-9);  // sqrt(5/3)
    EXPECT_EQ(sd_text(timed->ms, 3), "1.291");
    EXPECT_NEAR(timed->quantities.at("twice").median, 5.0, 1e-9);
}

TEST(Timing, TheMedianIsNotMovedByOneLongRound) {
    const Spread spread = spread_of({3.0, 1.0, 1000.0, 2.0, 4.0});
    EXPECT_DOUBLE_EQ(spread.median, 3.0);
    EXPECT_DOUBLE_EQ(spread.mean, 202.0);
}

TEST(Timing, OfOneRoundThereIsNoDeviation) {
    const auto timed = time_rounds(1, growing());
    ASSERT_TRUE(timed);
    EXPECT_EQ(timed->rounds, 1);
    EXPECT_NEAR(timed->ms.median, 1.0, 1e-9);
    EXPECT_NEAR(timed->ms.mean, 1.0, 1e-9);
    EXPECT_FALSE(timed->ms.sd);
    EXPECT_EQ(sd_text(timed->ms, 3), "-");
}

TEST(Timing, AFailedRoundIsTheLastAndDoesNotCount) {
    const auto timed = time_rounds(9, growing(3));
    ASSERT_TRUE(timed);
    EXPECT_EQ(timed->rounds, 3);
    EXPECT_NEAR(timed->ms.median, 2.0, 1e-9);
    EXPECT_FALSE(time_rounds(9, growing(0)));
}

}  // namespace
}  // namespace pinstudy
