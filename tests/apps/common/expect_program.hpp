// Expectations that the tests of several programs share.
#pragma once

#include <string>
#include <vector>

#include "tests/apps/common/run_program.hpp"

namespace pinstudy::testing {

// The command is refused as a user's mistake: exit status 2, nothing on standard output, and one
// line on standard error that contains all the `words`.
void expect_user_error(const std::vector<std::string>& command,
                       const std::vector<std::string>& words);

// The program's --help names all the `words`, and its --version the build under test.
void expect_self_explaining(const std::string& program, const std::vector<std::string>& words);

// run_program() on the first of this process's CPUs alone.
ProgramResult run_on_one_cpu(const std::vector<std::string>& command);

// The lines of `output`, from the first on, match the regular expressions (ECMAScript).
void expect_lines(const std::string& output, const std::vector<std::string>& patterns);

// What the first group of `pattern` matches in `text`; fails the test if nothing does.
std::string find(const std::string& text, const std::string& pattern);

}  // namespace pinstudy::testing
