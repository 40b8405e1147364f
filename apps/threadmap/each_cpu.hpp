// A thread on each CPU.
#pragma once

#include <string>
#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// Whether a thread that pinned itself to the CPU got there: `why_not` is empty if so.
struct Reached {
    int cpu = -1;
    std::string why_not;
};

// Starts a thread for each CPU, one after the other, which pins itself to it.
std::vector<Reached> reach_each(const Cpus& cpus);

}  // namespace pinstudy::threadmap
