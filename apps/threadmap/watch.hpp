// A thread that works and watches itself.
#pragma once

#include <chrono>

#include "apps/threadmap/sightings.hpp"

namespace pinstudy::threadmap {

using Clock = std::chrono::steady_clock;

// What a thread saw of itself. `ran` is the share of the time that it was on a CPU at all, by the
// kernel's account of its CPU time. `outside` are the CPUs where it was seen although the kernel
// did not allow them to it: there should be none.
struct ThreadView {
    long tid = 0;
    Cpus allowed_first;
    Cpus allowed_last;
    bool allowed_changed = false;
    Sightings seen{1};
    double ran = 0;
    Cpus outside;
};

// Keeps the calling thread busy from `start` on for so many seconds, has it look all the time at
// the CPU it is on, and at the CPUs it is allowed once a slice. Throws std::system_error where the
// kernel does not say.
ThreadView watch_this_thread(Clock::time_point start, double seconds, int slices);

}  // namespace pinstudy::threadmap
