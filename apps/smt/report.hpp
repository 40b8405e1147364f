// What the program prints.
#pragma once

#include <string>
#include <vector>

#include "apps/common/statistics.hpp"
#include "apps/smt/experiment.hpp"
#include "apps/smt/settings.hpp"

namespace pinstudy::smt {

// Of each round: the mean of the threads' times, the slowest thread's, and the items that a thread
// of the mean time goes through in a second.
struct Measured {
    Samples thread_ms;
    Samples slowest_ms;
    Samples items_per_s;

    // Adds a round, of which these are the threads' times.
    void add(const std::vector<double>& ms, std::int64_t items);
};

// What is measured, in some lines.
std::string introduction(const Settings& settings);

// One value a line. `masks` are the CPUs that each thread may use.
std::string values(const Measured& measured, const std::vector<Track>& tracks,
                   const std::vector<Cpus>& masks);

}  // namespace pinstudy::smt
