#include "apps/common/program.hpp"

#include <gtest/gtest.h>

namespace pinstudy {
namespace {

TEST(Verdict, OfARightResultIsExitStatus0) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(report({true, "1 is 1"}), 0);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "Check: passed (1 is 1)\n");
}

TEST(Verdict, OfAWrongResultIsExitStatus3) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(report({false, "1 is not 2"}), 3);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "Check: FAILED (1 is not 2)\n");
}

TEST(Printed, IsWhatPrintfPrints) {
    EXPECT_EQ(printed("%.1f of %d %s", 1.25, 7, "ms"), "1.2 of 7 ms");
    EXPECT_EQ(printed("%1000d", 1).size(), 1000U);
}

}  // namespace
}  // namespace pinstudy
