// The run inside a study: one team of two threads, placed by others or by itself.
#pragma once

#include "apps/common/assigned_cpus.hpp"
#include "apps/pingpong/settings.hpp"

namespace pinstudy::pingpong {

// Plays one run of the least number of samples, as every run of a case shall have the same number,
// and prints what it found, one number a line. Returns the program's exit status.
int play_as_team(const Settings& settings, const AssignedCpus& assigned);

}  // namespace pinstudy::pingpong
