// The numbers are those that SplitMix64 gives, and uniform.
#include "apps/smt/work.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace pinstudy::smt {
namespace {

// The first outputs of SplitMix64 with the seed 1234567, as many implementations print them.
constexpr std::array<std::uint64_t, 5> kOutputs{6457827717110365317U, 3203168211198807973U,
                                                9817491932198370423U, 4593380528125082431U,
                                                16408922859458223821U};

TEST(Items, AreTheUpperBitsOfSplitMix64) {
    for (std::size_t i = 0; i < kOutputs.size(); ++i) {
        const double unit = std::floor(std::ldexp(static_cast<double>(kOutputs[i] >> 40), 0));
        EXPECT_EQ(item(i), static_cast<float>(unit / 8388608.0 - 1.0)) << i;
    }
}

TEST(Items, AreUniformFromMinusOneToOne) {
    constexpr int kCount = 1000000;
    double sum = 0;
    double squares = 0;
    for (std::uint64_t i = 0; i < kCount; ++i) {
        const auto x = static_cast<double>(item(i));
        ASSERT_GE(x, -1.0);
        ASSERT_LT(x, 1.0);
        sum += x;
        squares += x * x;
    }
    // Variance 1/3, and that of the squares 4/45; five standard errors.
    EXPECT_NEAR(sum / kCount, 0.0, 5 * std::sqrt(1.0 / 3 / kCount));
    EXPECT_NEAR(squares / kCount, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kCount));
}

TEST(Items, AreTheSameInEveryArray) {
    const Items one(1000);
    const Items other(500);
    ASSERT_EQ(one.all().size(), 1000U);
    for (std::size_t i = 0; i < 500; ++i) {
        ASSERT_EQ(one.all()[i], other.all()[i]);
        ASSERT_EQ(one.all()[i], item(i));
    }
}

}  // namespace
}  // namespace pinstudy::smt
