// The sums are right, and a sum in another order is found.
#include "apps/smt/experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "apps/smt/work.hpp"

namespace pinstudy::smt {
namespace {

// The items are multiples of 2^-23, so that a double holds their sum exactly.
double exact_sum(std::uint64_t count) {
    double sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        sum += static_cast<double>(item(i));
    }
    return sum;
}

// Rounding a sum s to a float changes it by at most 2^-24 |s|: with `count` additions, each of a
// sum of at most `highest`, by no more than this.
double rounding(std::uint64_t count, double highest) {
    return static_cast<double>(count) * highest * 0x1p-24;
}

TEST(Expected, IsTheSumUpToTheRoundingOfFloats) {
    for (const std::uint64_t count : {1U, 2U, 1000U, 200000U}) {
        double highest = 0;
        double sum = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            sum += static_cast<double>(item(i));
            highest = std::max(highest, std::abs(sum));
        }
        // The sums of floats are not higher than the exact ones by more than the bound itself.
        const double bound = 2 * rounding(count, highest + 1);
        EXPECT_NEAR(static_cast<double>(expected(Work::accumulate, count)), exact_sum(count),
                    bound);
    }
}

TEST(Expected, IsTheSumOfTheSines) {
    constexpr std::uint64_t kCount = 1000;
    double sum = 0;
    double highest = 0;
    for (std::uint64_t i = 0; i < kCount; ++i) {
        sum += std::sin(static_cast<double>(item(i)));
        highest = std::max(highest, std::abs(sum));
    }
    // Each sine is off by an ulp of a float below 1 at most.
    const double bound = 2 * rounding(kCount, highest + 1) + kCount * 0x1p-24;
    EXPECT_NEAR(static_cast<double>(expected(Work::sin, kCount)), sum, bound);
}

TEST(Expected, IsWhatTheThreadsCompute) {
    const Items items(123457);
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, items.all().size()}) {
        for (const Work work : {Work::accumulate, Work::sin}) {
            EXPECT_EQ(do_work(work, items.all().first(count)), expected(work, count));
        }
    }
}

TEST(Expected, IsNotWhatAddingInAnotherOrderGives) {
    constexpr std::size_t kCount = 100000;
    const Items items(kCount);
    // As a compiler would with four places of a vector.
    float sums[4] = {0, 0, 0, 0};
    for (std::size_t i = 0; i < kCount; ++i) {
        sums[i % 4] += items.all()[i];
    }
    const float reordered = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    EXPECT_NE(reordered, expected(Work::accumulate, kCount));

    Check check;
    check.look(Work::accumulate, reordered);
    EXPECT_FALSE(check.verdict(kCount).passed);
}

TEST(Check, PassesWhenAllSumsAreRight) {
    Check check;
    for (int i = 0; i < 3; ++i) {
        check.look(Work::accumulate, expected(Work::accumulate, 1000));
    }
    check.look(Work::sin, expected(Work::sin, 1000));
    const Verdict verdict = check.verdict(1000);
    EXPECT_TRUE(verdict.passed);
    EXPECT_EQ(verdict.reason.find("4 sums, as adding in order gives: accumulate "), 0U)
        << verdict.reason;
}

TEST(Check, FailsForOneWrongSumAmongOthersAndForNone) {
    const float right = expected(Work::accumulate, 1000);
    Check check;
    check.look(Work::accumulate, right);
    check.look(Work::accumulate, std::nextafter(right, 2 * right));
    const Verdict verdict = check.verdict(1000);
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.reason.find("accumulate: 1 sums are "), 0U) << verdict.reason;
    EXPECT_FALSE(Check().verdict(1000).passed);
}

}  // namespace
}  // namespace pinstudy::smt
