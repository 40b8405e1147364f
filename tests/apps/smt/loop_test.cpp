// The built program adds one number after the other: its sums were neither vectorised nor
// reordered. A sum that were would be several times as fast and would measure something else.
#include <gtest/gtest.h>

#include <regex>

#include "tests/apps/common/disassembly.hpp"

namespace pinstudy::testing {
namespace {

// Additions of single floats, and of several at once, on x86 (SSE, AVX) and arm64 (also SVE).
const std::regex kScalarAdd(R"(^(v?addss|fadd\s+s\d+)\b)");
const std::regex kPackedAdd(R"(^(v?h?addp[sd]\b|fadd\s+[vz]\d+|faddp\b|faddv\b|fadda\b|v?dpps\b))");
const std::regex kCall(R"(^(call|bl)\b.*\bsinf\b)");

class Loop : public DisassemblyTest {
  protected:
    void SetUp() override { disassemble(PINSTUDY_PROGRAM); }

    // The innermost loops of the function that add floats.
    std::vector<std::vector<std::string>> adding_loops(const std::string& function) const {
        for (const Instruction& instruction : instructions(function)) {
            EXPECT_FALSE(std::regex_search(instruction.text, kPackedAdd)) << instruction.text;
        }
        std::vector<std::vector<std::string>> loops;
        for (const auto& loop : loops_of(function)) {
            if (count(loop, kScalarAdd) > 0) {
                loops.push_back(loop);
            }
        }
        return loops;
    }
};

TEST_F(Loop, OfAccumulateAddsOneFloatAfterTheOther) {
    EXPECT_FALSE(adding_loops("pinstudy::smt::accumulate(").empty());
}

TEST_F(Loop, OfSinCallsTheLibrarysScalarSineAndAddsOneFloat) {
    const auto loops = adding_loops("pinstudy::smt::sum_of_sines(");
    ASSERT_FALSE(loops.empty());
    for (const auto& loop : loops) {
        EXPECT_EQ(count(loop, kCall), count(loop, kScalarAdd));
    }
}

}  // namespace
}  // namespace pinstudy::testing
