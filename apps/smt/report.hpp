// What the program prints.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "apps/common/node_placements.hpp"
#include "apps/common/timing.hpp"
#include "apps/smt/experiment.hpp"
#include "apps/smt/settings.hpp"

namespace pinstudy::smt {

// What is measured, in some lines.
std::string introduction(const Settings& settings);

// One placement, one value a line. `masks` are the CPUs that each thread may use.
std::string values(const Experiment& experiment, const Timed& timed,
                   const std::vector<Cpus>& masks);

// All placements in a table, a row a thread, and those that the node cannot do, with the reason.
// `masks` are the CPUs that each thread was started with.
std::string table(const std::deque<Experiment>& experiments, const Results& results,
                  const NodePlacements& node, std::int64_t items, const std::vector<Cpus>& masks);

}  // namespace pinstudy::smt
