#include "apps/common/verdict.hpp"

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

}  // namespace
}  // namespace pinstudy
