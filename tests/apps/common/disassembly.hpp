// What the compiler made of a function: its innermost loops, as objdump shows them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <regex>
#include <string>
#include <vector>

namespace pinstudy::testing {

// An instruction such as "vaddss (%rax),%xmm0,%xmm0" at an address; `target` is where a jump goes,
// 0 for all others.
struct Instruction {
    unsigned long address = 0;
    std::string text;
    unsigned long target = 0;
};

// The instructions of the function whose name, as C++ writes it, contains `function`, in the output
// of `objdump -d -C --no-show-raw-insn`. Empty when there is none.
std::vector<Instruction> instructions_of(const std::string& disassembly,
                                         const std::string& function);

// The loops of a function: from where a backward jump goes to the jump. Loops that contain others
// are left out.
std::vector<std::vector<std::string>> innermost_loops(const std::vector<Instruction>& function);

// How often the pattern is found in a loop's instructions.
std::ptrdiff_t count(const std::vector<std::string>& loop, const std::regex& pattern);

// The path of an executable on the PATH, or an empty text.
std::string find_tool(const std::string& name);

// A test of what the compiler made of the program under test (PINSTUDY_PROGRAM of the test
// program). Skipped without objdump, but failed where the environment variable CI is true.
class DisassemblyTest : public ::testing::Test {
  protected:
    void disassemble(const std::string& program);

    // The innermost loops of a function; fails when the function is not there.
    std::vector<std::vector<std::string>> loops_of(const std::string& function) const;

    // All instructions of a function.
    std::vector<Instruction> instructions(const std::string& function) const;

  private:
    std::string text_;
};

}  // namespace pinstudy::testing
