// What is added to an integer is there; what is added to a float is there if nobody else adds.
#include "apps/contention/adding.hpp"

#include <gtest/gtest.h>

#include "apps/common/led_team.hpp"

namespace pinstudy::contention {
namespace {

TEST(Adding, LosesNothingOfAnInteger) {
    constexpr int kThreads = 4;
    constexpr int kTimes = 50000;
    std::atomic<std::int32_t> sum{0};
    lead_team(kThreads, [&](PlacedTeam& team) {
        team.round([&](int) { add(sum, kTimes); });
        return 0;
    });
    EXPECT_EQ(sum, kThreads * kTimes);
}

TEST(Adding, LosesNothingOfAFloatThatOneThreadAddsTo) {
    std::atomic<float> sum{0};
    add(sum, 262144);
    EXPECT_EQ(sum, 262144.0F);
    add(sum, 1);
    EXPECT_EQ(sum, 262145.0F);
}

}  // namespace
}  // namespace pinstudy::contention
