// Pairs of CPUs, one after the other, and their results as text or JSON lines.
#pragma once

#include <vector>

#include "apps/pingpong/order.hpp"
#include "apps/pingpong/settings.hpp"

namespace pinstudy::pingpong {

// Measures the pairs in a shuffled order and prints what is found. A pair that cannot be measured
// is left out with the reason. Returns the program's exit status.
int play_pairs(const std::vector<CpuPair>& pairs, const Settings& settings, bool json_lines);

}  // namespace pinstudy::pingpong
