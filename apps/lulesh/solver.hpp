// The time loop.
#pragma once

#include <cstdint>
#include <functional>

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

// Called after each cycle.
using Observer = std::function<void(const Domain&)>;

// Runs cycles until the problem's stop time or `last_cycle`, whichever is first. Throws Breakdown
// when the solution breaks down; domain.clock then tells in which cycle.
void run(Domain& domain, std::int64_t last_cycle, const Observer& observer = {});

}  // namespace pinstudy::lulesh
