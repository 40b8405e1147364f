#include "apps/common/memory.hpp"

#include <gtest/gtest.h>

namespace pinstudy {
namespace {

TEST(Memory, IsWrittenWithBinaryUnits) {
    EXPECT_EQ(readable_bytes(0), "0 B");
    EXPECT_EQ(readable_bytes(1023), "1023 B");
    EXPECT_EQ(readable_bytes(1536), "1.5 KiB");
    EXPECT_EQ(readable_bytes(2.0 * 1024 * 1024 * 1024), "2 GiB");
}

TEST(Memory, OfAFewBytesIsNeverTooMuch) {
    EXPECT_EQ(why_too_large("a matrix", 8), "");
}

TEST(Memory, OfMoreThanTheNodeHasIsRefusedWithBothNumbers) {
    const std::string reason = why_too_large("a matrix", 1e30);
    EXPECT_NE(reason.find("a matrix needs"), std::string::npos) << reason;
    EXPECT_NE(reason.find("this node has"), std::string::npos) << reason;
}

}  // namespace
}  // namespace pinstudy
