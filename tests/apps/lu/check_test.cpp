#include "apps/lu/check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "apps/lu/elimination.hpp"

namespace pinstudy::lu {
namespace {

Factors factors_of(std::int64_t n) {
    Factors factors(n);
    eliminate(factors);
    return factors;
}

// The factors for n = 3 by hand: (1 2 3; 4 1 6; 7 8 1) -> row 1: 1-4*2 = -7, 6-4*3 = -6;
// row 2: 8-7*2 = -6, 1-7*3 = -20; then l = 6/7 and -20 - (6/7)*(-6) = -104/7.
TEST(ClosedForm, IsTheEliminationByHandForSize3) {
    const double expected[3][3] = {{1, 2, 3}, {4, -7, -6}, {7, 6.0 / 7, -104.0 / 7}};
    for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) {
            EXPECT_NEAR(exact_factor(3, i, j), expected[i][j], 1e-13) << i << ' ' << j;
        }
    }
}

TEST(Check, AcceptsTheFactorsOfEverySize) {
    for (std::int64_t n = 1; n <= 64; ++n) {
        const Verdict verdict = check(factors_of(n));
        EXPECT_TRUE(verdict.passed) << "n = " << n << ": " << verdict.reason;
    }
    EXPECT_TRUE(check(factors_of(500)).passed);
}

TEST(Check, RefusesASingleWrongElement) {
    for (const auto& [i, j] : {std::pair{0, 0}, {3, 3}, {2, 17}, {17, 2}, {19, 0}, {19, 19}}) {
        Factors factors = factors_of(20);
        (i > j ? factors.l : factors.m)[i][j] *= 1.0 + 1e-9;
        EXPECT_FALSE(check(factors).passed) << i << ' ' << j;
    }
}

TEST(Check, RefusesWhatIsNoNumber) {
    Factors factors = factors_of(20);
    factors.m[7][11] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(check(factors).passed);
    EXPECT_TRUE(std::isinf(largest_deviation(factors)));
}

TEST(Check, RefusesTheMatrixThatWasNotReduced) {
    EXPECT_FALSE(check(Factors(20)).passed);
}

}  // namespace
}  // namespace pinstudy::lu
