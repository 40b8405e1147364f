// The output that all programs have in common: version, result of the check, errors.
#pragma once

#include <string>

namespace pinstudy {

enum ExitStatus : int {
    kExitOk = 0,          // the program ran and its result passed its check
    kExitFailed = 1,      // something broke that the user could not have known
    kExitUserError = 2,   // the command line or the environment asks for what cannot be done
    kExitCheckFailed = 3  // the program ran, but its result is wrong
};

// The result of a program's check of its own result.
struct Verdict {
    bool passed = false;
    std::string reason;  // the numbers compared
};

// Prints "Check: passed (REASON)" or "Check: FAILED (REASON)" to standard output; returns the
// program's exit status.
int report(const Verdict& verdict);

// Lines for --version: program, project version, build, compiler, flags, OpenMP.
std::string version_text(const std::string& app);

// Returns what run(argc, argv) returns; prints an exception in one line with the program's name.
// Each line of output is written at once, so that a reader of a pipe sees the progress.
int run_program(const char* name, int (*run)(int, char**), int argc, char** argv);

// The text that printf would print.
[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

}  // namespace pinstudy
