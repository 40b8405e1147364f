// The built program does every addition by itself: a compiler may do several relaxed atomic
// additions at once, and none does so far.
#include <gtest/gtest.h>

#include <regex>

#include "tests/apps/common/disassembly.hpp"

namespace pinstudy::testing {
namespace {

// An atomic read-modify-write by 1: of x86; of arm64 with its large system extensions, without
// them, and by the compiler's function that chooses between the two; by the thread sanitizer's
// function.
const std::regex kAtomicOne(
    R"(^(lock (incl|addl\s+\$0x1,|subl\s+\$0xffffffff,|xadd)|(ld|st)add|stl?xr|)"
    R"((call|bl)\s.*(__aarch64_ldadd|__tsan_atomic\d+_fetch_add)))");
const std::regex kScalarAdd(R"(^(v?addss|fadd\s+s\d+)\b)");

class Loop : public DisassemblyTest {
  protected:
    void SetUp() override { disassemble(PINSTUDY_PROGRAM); }

    // How many of the instructions of the innermost loops match.
    std::ptrdiff_t in_loops_of(const std::string& function, const std::regex& pattern) const {
        std::ptrdiff_t found = 0;
        for (const auto& loop : loops_of(function)) {
            found += count(loop, pattern);
        }
        return found;
    }
};

TEST_F(Loop, OfIntegersHasAnAtomicReadModifyWrite) {
    EXPECT_GT(in_loops_of("pinstudy::contention::add(std::atomic<int>&", kAtomicOne), 0);
    EXPECT_EQ(in_loops_of("pinstudy::contention::add(std::atomic<int>&", kScalarAdd), 0);
}

TEST_F(Loop, OfFloatsAddsOneFloatAndHasNoAtomicReadModifyWrite) {
    EXPECT_GT(in_loops_of("pinstudy::contention::add(std::atomic<float>&", kScalarAdd), 0);
    EXPECT_EQ(in_loops_of("pinstudy::contention::add(std::atomic<float>&", kAtomicOne), 0);
}

}  // namespace
}  // namespace pinstudy::testing
