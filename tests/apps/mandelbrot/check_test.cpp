#include "apps/mandelbrot/check.hpp"

#include <gtest/gtest.h>

#include "apps/mandelbrot/sampling.hpp"

namespace pinstudy::mandelbrot {
namespace {

TEST(Check, AcceptsTheKnownCountAndTwoBesideIt) {
    for (const std::int64_t inside : {13360, 13362, 13364}) {
        EXPECT_TRUE(check(50000, inside, kOmpscrEscape).passed) << inside;
    }
    for (const std::int64_t inside : {0, 13359, 13365, 50000}) {
        EXPECT_FALSE(check(50000, inside, kOmpscrEscape).passed) << inside;
    }
}

TEST(Check, SaysWhatItCompared) {
    EXPECT_EQ(check(100, 30, kOmpscrEscape).reason, "30 points inside, known 26 +- 2");
    EXPECT_NE(check(123, 30, kOmpscrEscape).reason.find("area 1.371951"), std::string::npos);
}

// With the exact threshold 13365 of 50000 points are inside, three more than OmpSCR finds.
TEST(Check, OfTheExactThresholdDoesNotExpectOmpscrsCount) {
    EXPECT_TRUE(check(50000, 13365, kExactEscape).passed);
}

// Binomial: 5.625 sqrt(f (1 - f) / N) with f = 1.50659177 / 5.625.
TEST(Check, KnowsTheStandardErrorOfTheArea) {
    EXPECT_NEAR(standard_error(50000), 0.01114, 1e-5);
    EXPECT_NEAR(standard_error(200000), 0.01114 / 2, 1e-5);
}

TEST(Check, OfAnUnlistedNumberOfPointsAllowsForFiveStandardErrors) {
    constexpr std::int64_t kPoints = 60000;  // expected 16070, standard error 108 points
    EXPECT_TRUE(check(kPoints, 16070, kExactEscape).passed);
    EXPECT_TRUE(check(kPoints, 16070 - 500, kExactEscape).passed);
    EXPECT_TRUE(check(kPoints, 16070 + 500, kExactEscape).passed);
    EXPECT_FALSE(check(kPoints, 16070 - 600, kExactEscape).passed);
    EXPECT_FALSE(check(kPoints, 16070 + 600, kExactEscape).passed);
}

TEST(Check, AcceptsTheTrueResultOfEverySmallNumberOfPoints) {
    std::int64_t inside = 0;
    std::int64_t count = 0;
    for (const Point& point : sample_points(600)) {
        inside += is_outside(point, static_cast<double>(kOmpscrEscape)) ? 0 : 1;
        ++count;
        const Verdict verdict = check(count, inside, kOmpscrEscape);
        EXPECT_TRUE(verdict.passed) << count << " points: " << verdict.reason;
    }
}

}  // namespace
}  // namespace pinstudy::mandelbrot
