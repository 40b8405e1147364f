// A team of threads as the present environment forms it; each thread works and samples itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/common/placement.hpp"

namespace pinstudy::threadmap {

// How many looks found a thread on each CPU.
using Looks = std::map<int, std::int64_t>;

// The CPUs on which one thread was seen, look by look, in each slice of the time. A slice in which
// the thread did not run is empty.
struct Sightings {
    explicit Sightings(int count = 1) : slices(static_cast<std::size_t>(count)) {}

    // The thread was seen on a CPU during a slice, counted from 0.
    void add(int cpu, int slice);

    // All slices together.
    Looks cpus() const;

    std::vector<Looks> slices;
    std::int64_t looks = 0;
    std::int64_t moves = 0;  // how often it was on another CPU than at the look before
    int first_cpu = -1;
    int last_cpu = -1;
};

// A thread of the team. `place` is the OpenMP place that the runtime bound it to, -1 if
// none. `ran` is the share of the time that it was on a CPU at all, by the kernel's account of its
// CPU time. `outside` are the CPUs where it was seen although the kernel did not allow them to it:
// there should be none. `misplaced` says how it is not on the CPU assigned to it.
struct Member {
    long tid = 0;
    int place = -1;
    Cpus allowed_first;
    Cpus allowed_last;
    bool allowed_changed = false;
    Sightings seen;
    double ran = 0;
    Cpus outside;
    std::string misplaced;
};

// Forms a team of so many threads and lets it work for so long. Each thread looks all the time at
// the CPU it is on, and once a slice at those it is allowed. Throws std::runtime_error when so many
// threads cannot be had, or one cannot be pinned or watched.
std::vector<Member> watch_team(int threads, double seconds, int slices,
                               const AssignedCpus& assigned);

// Whether a thread that pinned itself to the CPU got there: `why_not` is empty if so.
struct Reached {
    int cpu = -1;
    std::string why_not;
};

// Starts a thread for each CPU, one after the other, which pins itself to it.
std::vector<Reached> reach_each(const Cpus& cpus);

}  // namespace pinstudy::threadmap
