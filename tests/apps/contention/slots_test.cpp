// Atomics are as far from each other as asked for.
#include "apps/contention/slots.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace pinstudy::contention {
namespace {

template <typename Number>
std::intptr_t address(Slots<Number>& slots, std::size_t pair) {
    return reinterpret_cast<std::intptr_t>(&slots[pair]);
}

TEST(Slots, AreSoManyBytesApart) {
    for (const std::int64_t spacing : {kApart, kNeighbours, kSameLine}) {
        Slots<float> slots(3, spacing);
        EXPECT_EQ(address(slots, 0) % kApart, 0);
        EXPECT_EQ(address(slots, 1) - address(slots, 0), spacing);
        EXPECT_EQ(address(slots, 2) - address(slots, 1), spacing);
    }
}

TEST(Slots, OfTheSameLineAreInIt) {
    Slots<std::int32_t> slots(kMostInALine, kSameLine);
    EXPECT_EQ(address(slots, 0) / kNeighbours, address(slots, kMostInALine - 1) / kNeighbours);
}

TEST(Slots, BeginWithZeroAndKeepTheirOwn) {
    Slots<std::int32_t> slots(2, kSameLine);
    slots[1] = 7;
    EXPECT_EQ(slots[0], 0);
    EXPECT_EQ(slots[1], 7);
}

}  // namespace
}  // namespace pinstudy::contention
