// What the program prints.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "apps/common/node_placements.hpp"
#include "apps/common/timing.hpp"
#include "apps/contention/experiment.hpp"
#include "apps/contention/settings.hpp"

namespace pinstudy::contention {

// What is measured, in some lines.
std::string introduction(const Settings& settings);

// One placement, one value a line. `masks` are the CPUs that each thread may use.
std::string values(const Experiment& experiment, const Timed& timed,
                   const std::vector<Cpus>& masks);

// All placements in a table, and those that the node cannot do, with the reason. `masks` are the
// CPUs that each thread was started with.
std::string table(const std::deque<Experiment>& experiments, const Results& results,
                  const NodePlacements& node, const std::vector<Cpus>& masks);

}  // namespace pinstudy::contention
