// A run's line is alone with its neighbour in a page of the run's own.
#include "apps/pingpong/page.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace pinstudy::pingpong {
namespace {

TEST(PageOfARun, LinesAreFreshAlignedAndInside) {
    Page page;
    const auto first = reinterpret_cast<std::uintptr_t>(&page.line(0));
    EXPECT_EQ(first % 4096, 0U);
    for (int slot = 0; slot < Page::kSlots; ++slot) {
        Line& line = page.line(slot);
        const auto address = reinterpret_cast<std::uintptr_t>(&line);
        EXPECT_EQ(line.turn.load(), 0U);
        EXPECT_EQ(address % 128, 0U);
        EXPECT_EQ(address - first, static_cast<std::uintptr_t>(slot) * 128);
        line.turn.store(1);
    }
    EXPECT_EQ(Page::kSlots * sizeof(Line), 4096U);
}

TEST(PageOfARun, TwoAreTwoPages) {
    Page one;
    Page other;
    one.line(3).turn.store(7);
    EXPECT_EQ(other.line(3).turn.load(), 0U);
}

}  // namespace
}  // namespace pinstudy::pingpong
