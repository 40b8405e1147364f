// The command line and the output of the programs of the OpenMP Source Code Repository (OmpSCR 2.0;
// Dorta et al., 2005): one number as the argument, or -test for a default. Ours have the same, so
// that a study can run ours or theirs and read the output in the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/common/options.hpp"

namespace pinstudy {

// The positional argument of a program: its name, its help and its range.
struct SizeArgument {
    std::string name;
    std::string help;
    std::int64_t highest = 0;     // the lowest is 1
    std::int64_t test_value = 0;  // what -test stands for
};

// Parses a command line of one number or -test besides the other `options`. Returns the exit status
// with which the program must end at once, or nothing after having set `size`.
std::optional<int> parse_size(Options& options, const SizeArgument& argument, std::int64_t& size,
                              int argc, char** argv);

// Prints what precedes the run. `threads` is what the runtime may form, not what it did form.
void print_header(const std::string& program, const std::string& description,
                  const SizeArgument& argument, std::int64_t size, int threads);

// Prints a time in seconds under its name.
void print_timer(const std::string& name, double seconds);

}  // namespace pinstudy
