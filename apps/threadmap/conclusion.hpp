// One line about a team: bound, free or oversubscribed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// The facts about a team: the CPUs that each thread may run on, those of the process, the CPUs'
// worth of time in its control group's quota, and the share of the time that the threads ran, all
// together.
struct TeamFacts {
    std::vector<Cpus> masks;
    Cpus process;
    std::optional<double> quota;
    double ran = 1;
    int masks_changed = 0;
};

// The first state that is true of the team, from the worst to the best:
//   oversubscribed  not every thread can have a CPU of its own, or the quota is below one CPU a
//                   thread
//   free            a thread may run on every CPU of the process, and these are several
//   bound           every thread is bound to a CPU or to a set of CPUs
// `details` are the facts behind it.
struct Conclusion {
    std::string state;
    std::string details;

    std::string line() const { return "Team: " + state + " (" + details + ")"; }
};

Conclusion conclude(const TeamFacts& facts);

// Threads (by their place in the list) that share fewer CPUs than there are threads, and these
// CPUs. Both are empty when every thread can have one of its own.
struct Shortage {
    std::vector<int> threads;
    Cpus cpus;
};

// `masks` are the CPUs that each thread may run on. By Hall's theorem there is either a CPU for
// each thread or such a group of threads.
Shortage find_shortage(const std::vector<Cpus>& masks);

}  // namespace pinstudy::threadmap
