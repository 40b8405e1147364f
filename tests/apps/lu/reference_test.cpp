// The reference values of larger matrices.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "apps/lu/check.hpp"
#include "apps/lu/elimination.hpp"

namespace pinstudy::lu {
namespace {

struct Reference {
    std::int64_t size;
    double second;  // U_11
    double last;    // U_(n-1)(n-1)
    double trace;   // the sum of the diagonal of U
};

void PrintTo(const Reference& reference, std::ostream* stream) {
    *stream << "n = " << reference.size;
}

class LuReference : public ::testing::TestWithParam<Reference> {};

TEST_P(LuReference, ValuesAreMet) {
    const Reference& reference = GetParam();
    Factors factors(reference.size);
    eliminate(factors);
    double trace = 0.0;
    for (std::int64_t i = 0; i < factors.size(); ++i) {
        trace += factors.m[i][i];
    }
    EXPECT_EQ(factors.m[1][1], reference.second);
    EXPECT_NEAR(factors.m.back().back() / reference.last, 1.0, 5e-8);
    EXPECT_NEAR(trace / reference.trace, 1.0, 5e-10);
    EXPECT_TRUE(check(factors).passed);
}

// From the closed form, to the digits given.
INSTANTIATE_TEST_SUITE_P(
    Ompscr, LuReference,
    ::testing::Values(Reference{5, -11, -37.333333333, -101.0995671},
                      Reference{50, -101, -2.603034765764e+03, -6.766088444e+04},
                      Reference{200, -401, -4.040300969343e+04, -4.081206832e+06},
                      Reference{500, -1001, -2.510030039516e+05, -6.300393424e+07},
                      Reference{1000, -2001, -1.002003001988e+06, -5.020092537e+08},
                      Reference{2000, -4001, -4.004003000997e+06, -4.008021278e+09}),
    [](const auto& test) { return "Size" + std::to_string(test.param.size); });

}  // namespace
}  // namespace pinstudy::lu
