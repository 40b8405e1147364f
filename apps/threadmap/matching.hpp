// Whether every thread can have a CPU of its own.
#pragma once

#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// Threads (by their place in the list) that have fewer CPUs between them than they are, and these
// CPUs. Both are empty when every thread can have one of its own.
struct Shortage {
    std::vector<int> threads;
    Cpus cpus;
};

// `masks` are the CPUs that each thread may run on. By Hall's theorem there is either a CPU for
// each thread or such a group of threads.
Shortage find_shortage(const std::vector<Cpus>& masks);

}  // namespace pinstudy::threadmap
