// Runs a program as a user would, without a shell, and catches what it says.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pinstudy::testing {

struct ProgramResult {
    int exit_status = 0;  // 128 + signal number if a signal ended the program
    std::string output;   // standard output
    std::string error;    // standard error
};

// Runs command[0] (a path) with the arguments command[1...] and the environment of the test,
// changed by `environment`; waits for its end. Throws std::system_error if the program cannot be
// started.
ProgramResult run_program(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment = {});

}  // namespace pinstudy::testing
