// The walk through memory comes to every place, once a round.
#include "apps/yardstick/chase.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pinstudy::yardstick {
namespace {

TEST(Chase, ComesToEveryPlaceBeforeItIsBack) {
    const Chase chase(64 * 1024);
    ASSERT_EQ(chase.places(), 256U);
    std::set<std::uint64_t> seen;
    for (int steps = 1; steps <= 256; ++steps) {
        seen.insert(chase.walk(steps));
    }
    EXPECT_EQ(seen.size(), 256U);
    EXPECT_EQ(chase.walk(256), 0U);
    EXPECT_EQ(chase.walk(0), 0U);
}

TEST(Chase, GoesInNoOrderThatAProcessorGuesses) {
    const Chase chase(1024 * 1024);
    int following = 0;
    for (int steps = 1; steps < 1000; ++steps) {
        const auto here = static_cast<std::int64_t>(chase.walk(steps));
        const auto next = static_cast<std::int64_t>(chase.walk(steps + 1));
        following += next - here == static_cast<std::int64_t>(Chase::kSpacing / 8) ? 1 : 0;
    }
    EXPECT_LT(following, 10);
}

TEST(Chase, HasTwoPlacesAtLeast) {
    EXPECT_EQ(Chase(0).places(), 2U);
}

}  // namespace
}  // namespace pinstudy::yardstick
