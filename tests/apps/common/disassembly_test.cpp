// Functions and their innermost loops are found in what objdump prints.
#include "tests/apps/common/disassembly.hpp"

#include <gtest/gtest.h>

namespace pinstudy::testing {
namespace {

constexpr const char* kText =
    "0000000000001000 <other(int)>:\n"
    "    1000:\tret\n"
    "\n"
    "0000000000001010 <space::sum(std::span<float const>)>:\n"
    "    1010:\ttest   %rsi,%rsi\n"
    "    1013:\tje     1030 <space::sum(std::span<float const>)+0x20>\n"
    "    1015:\tvxorps %xmm0,%xmm0,%xmm0\n"
    "    1020:\tvaddss (%rdi),%xmm0,%xmm0\n"
    "    1024:\tadd    $0x4,%rdi\n"
    "    1028:\tcmp    %rax,%rdi\n"
    "    102b:\tjne    1020 <space::sum(std::span<float const>)+0x10>\n"
    "    102d:\tjmp    1015 <space::sum(std::span<float const>)+0x5>\n"
    "    1030:\tret\n"
    "\n"
    "0000000000001040 <space::sum(std::span<float const>) [clone .cold]>:\n"
    "    1040:\tud2\n";

constexpr const char* kArm =
    "0000000000000800 <space::sum(std::span<float const>)>:\n"
    " 800:\tldr\ts1, [x0], #4\n"
    " 804:\tfadd\ts0, s0, s1\n"
    " 808:\tcmp\tx0, x1\n"
    " 80c:\tb.ne\t800 <space::sum(std::span<float const>)>  // b.any\n"
    " 810:\tret\n";

TEST(Disassembly, FindsAFunctionByItsName) {
    const auto found = instructions_of(kText, "space::sum(");
    ASSERT_EQ(found.size(), 9U);
    EXPECT_EQ(found.front().address, 0x1010U);
    EXPECT_EQ(found.back().text, "ret");
    EXPECT_TRUE(instructions_of(kText, "sum(").empty());
}

TEST(Disassembly, FindsTheInnermostLoop) {
    const auto loops = innermost_loops(instructions_of(kText, "space::sum("));
    ASSERT_EQ(loops.size(), 1U);
    ASSERT_EQ(loops[0].size(), 4U);
    EXPECT_EQ(loops[0].front(), "vaddss (%rdi),%xmm0,%xmm0");
}

TEST(Disassembly, FindsTheLoopOfAnotherArchitecture) {
    const auto loops = innermost_loops(instructions_of(kArm, "space::sum("));
    ASSERT_EQ(loops.size(), 1U);
    EXPECT_EQ(loops[0].size(), 4U);
}

TEST(Disassembly, FindsToolsOnThePath) {
    EXPECT_NE(find_tool("sh"), "");
    EXPECT_EQ(find_tool("no-such-tool-anywhere"), "");
}

}  // namespace
}  // namespace pinstudy::testing
