// What samples say, on samples whose answers are known.
#include "apps/common/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace pinstudy {
namespace {

// 1, 2, ..., n in an order that is not sorted.
Samples one_to(std::size_t n) {
    Samples samples(n);
    std::iota(samples.begin(), samples.end(), 1.0);
    std::shuffle(samples.begin(), samples.end(), std::mt19937(1));
    return samples;
}

TEST(Statistics, TheMedianIsInTheMiddle) {
    EXPECT_EQ(median({5.0}), 5.0);
    EXPECT_EQ(median({9.0, 1.0, 2.0}), 2.0);
    EXPECT_EQ(median({4.0, 1.0, 1000.0, 2.0}), 3.0);
}

TEST(Statistics, QuartilesAreOnTheLineBetweenSamples) {
    // Quartiles of 1 to 5 are 2 and 4; of 1 to 4 they are 1.75 and 3.25.
    EXPECT_DOUBLE_EQ(half_quartile_distance(one_to(5)), 1.0);
    EXPECT_DOUBLE_EQ(half_quartile_distance(one_to(4)), 0.75);
    EXPECT_EQ(half_quartile_distance({7.0}), 0.0);
}

TEST(Statistics, MeanAndStandardDeviationAreTheUsualOnes) {
    // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, of which n - 1 are 7.
    const Samples samples{2, 4, 4, 4, 5, 5, 7, 9};
    EXPECT_DOUBLE_EQ(mean(samples), 5.0);
    EXPECT_DOUBLE_EQ(standard_deviation(samples), std::sqrt(32.0 / 7.0));
}

// Ranks from tables of the sign test: of 30 samples the 10th and the 21st (95.7 %), of 10 the 2nd
// and the 9th (97.9 %), of 100 the 40th and the 61st (96.5 %).
TEST(Statistics, TheMediansIntervalEndsAtTheRanksOfTheSignTest) {
    const Interval of_30 = median_interval(one_to(30));
    EXPECT_EQ(of_30.low, 10.0);
    EXPECT_EQ(of_30.high, 21.0);
    EXPECT_EQ(of_30.half_width(), 5.5);
    EXPECT_EQ(median_interval(one_to(10)).low, 2.0);
    EXPECT_EQ(median_interval(one_to(10)).high, 9.0);
    EXPECT_EQ(median_interval(one_to(100)).low, 40.0);
    EXPECT_EQ(median_interval(one_to(100)).high, 61.0);
    EXPECT_EQ(median_interval(one_to(6)).low, 1.0);
    // For large n the ranks are n / 2 -+ 0.98 sqrt(n).
    for (const std::size_t n : {999U, 1000U, 1001U, 10000U}) {
        const double reach = 0.98 * std::sqrt(static_cast<double>(n));
        EXPECT_NEAR(median_interval(one_to(n)).low, static_cast<double>(n) / 2.0 - reach, 1.0);
        EXPECT_NEAR(median_interval(one_to(n)).half_width(), reach, 1.0);
    }
}

TEST(Statistics, TheMediansIntervalHoldsItWhateverTheNoiseLooksLike) {
    std::mt19937_64 random(7);
    std::exponential_distribution<double> noise(1.0);
    int held = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
        Samples samples(30);
        for (double& sample : samples) {
            sample = noise(random);
        }
        const Interval interval = median_interval(samples);
        held += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high ? 1 : 0;
    }
    // 95.7 % with a standard error of 0.45 %.
    EXPECT_NEAR(held / static_cast<double>(kTrials), 0.957, 0.02);
}

TEST(Statistics, StudentsQuantilesAreThoseOfTheTables) {
    EXPECT_NEAR(student_t(9), 2.262, 0.0005);
    EXPECT_NEAR(student_t(29), 2.045, 0.0005);
    EXPECT_NEAR(student_t(120), 1.980, 0.0005);
}

TEST(Statistics, TheMeansIntervalIsStudents) {
    // 30 samples, half of them 9 and half 11: mean 10, sd sqrt(30/29).
    Samples samples(30, 9.0);
    std::fill(samples.begin() + 15, samples.end(), 11.0);
    const Interval interval = mean_interval(samples);
    const double half_width = 2.0452 * std::sqrt(30.0 / 29.0) / std::sqrt(30.0);
    EXPECT_NEAR(interval.low, 10.0 - half_width, 1e-4);
    EXPECT_NEAR(interval.high, 10.0 + half_width, 1e-4);
}

}  // namespace
}  // namespace pinstudy
