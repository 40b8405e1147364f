// The environment variables by which threads are placed.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pinstudy::threadmap {

// The text with everything but printable ASCII replaced by '?', and cut after 300 characters:
// nothing in it can act on a terminal.
std::string harmless(const std::string& text);

// Name and value of OMP_*, KMP_*, GOMP_*, LIKWID_* and SLURM_CPU* in an environment such as
// `environ`, sorted, made harmless.
std::vector<std::pair<std::string, std::string>> placing_variables(const char* const* environment);

}  // namespace pinstudy::threadmap
