// What the program prints.
#pragma once

#include <string>
#include <vector>

#include "apps/common/statistics.hpp"
#include "apps/contention/experiment.hpp"
#include "apps/contention/settings.hpp"

namespace pinstudy::contention {

// What is measured, in some lines.
std::string introduction(const Settings& settings);

// One value a line. `ms` are the times of the rounds, `masks` the CPUs that each thread may use.
std::string values(const Settings& settings, const Experiment& experiment, const Samples& ms,
                   const std::vector<Cpus>& masks);

}  // namespace pinstudy::contention
