#include "tests/apps/common/disassembly.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/apps/common/run_program.hpp"

namespace pinstudy::testing {
namespace {

// "  401136:	jne    401130 <name+0x10>": address, text; a jump's target if it is given as a
// number.
bool parse(const std::string& line, Instruction& instruction) {
    static const std::regex kLine(R"(^\s*([0-9a-f]+):\s+(.*\S)\s*$)");
    static const std::regex kJump(
        R"(^(?:j[a-z]+|loop[a-z]*|b|b\.[a-z]+|cbn?z|tbn?z)\s.*?\b([0-9a-f]+) <)");
    std::smatch match;
    if (!std::regex_match(line, match, kLine)) {
        return false;
    }
    instruction.address = std::stoul(match[1], nullptr, 16);
    instruction.text = match[2];
    std::smatch jump;
    instruction.target =
        std::regex_search(instruction.text, jump, kJump) ? std::stoul(jump[1], nullptr, 16) : 0;
    return true;
}

}  // namespace

std::vector<Instruction> instructions_of(const std::string& disassembly,
                                         const std::string& function) {
    std::vector<Instruction> instructions;
    std::istringstream lines(disassembly);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        const bool heading = line.ends_with(">:");
        if (heading) {
            inside = instructions.empty() && line.find("<" + function) != std::string::npos;
        }
        Instruction instruction;
        if (inside && !heading && parse(line, instruction)) {
            instructions.push_back(instruction);
        }
    }
    return instructions;
}

std::vector<std::vector<std::string>> innermost_loops(const std::vector<Instruction>& function) {
    struct Range {
        unsigned long first;
        unsigned long last;
    };
    std::vector<Range> ranges;
    for (const Instruction& instruction : function) {
        if (instruction.target >= function.front().address && instruction.target != 0 &&
            instruction.target <= instruction.address) {
            ranges.push_back({instruction.target, instruction.address});
        }
    }
    std::vector<std::vector<std::string>> loops;
    for (const Range& range : ranges) {
        const bool contains_another =
            std::any_of(ranges.begin(), ranges.end(), [&range](const Range& other) {
                return other.first >= range.first && other.last < range.last;
            });
        if (contains_another) {
            continue;
        }
        std::vector<std::string>& loop = loops.emplace_back();
        for (const Instruction& instruction : function) {
            if (instruction.address >= range.first && instruction.address <= range.last) {
                loop.push_back(instruction.text);
            }
        }
    }
    return loops;
}

std::string find_tool(const std::string& name) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string file = folder + "/" + name;
        if (access(file.c_str(), X_OK) == 0) {
            return file;
        }
    }
    return {};
}

std::ptrdiff_t count(const std::vector<std::string>& loop, const std::regex& pattern) {
    return std::count_if(loop.begin(), loop.end(), [&pattern](const std::string& text) {
        return std::regex_search(text, pattern);
    });
}

void DisassemblyTest::disassemble(const std::string& program) {
    const std::string objdump = find_tool("objdump");
    if (objdump.empty()) {
        const char* const ci = std::getenv("CI");
        ASSERT_FALSE(ci != nullptr && std::string(ci) == "true")
            << "objdump is missing (package binutils)";
        GTEST_SKIP() << "objdump is missing (package binutils)";
    }
    const ProgramResult result = run_program({objdump, "-d", "-C", "--no-show-raw-insn", program});
    ASSERT_EQ(result.exit_status, 0) << result.error;
    text_ = result.output;
}

std::vector<Instruction> DisassemblyTest::instructions(const std::string& function) const {
    const auto found = instructions_of(text_, function);
    EXPECT_FALSE(found.empty()) << function << " is not in the program";
    return found;
}

std::vector<std::vector<std::string>> DisassemblyTest::loops_of(const std::string& function) const {
    return innermost_loops(instructions(function));
}

}  // namespace pinstudy::testing
