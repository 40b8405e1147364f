// The time loop, and how long its next step is.
#pragma once

#include <cstdint>
#include <functional>

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

// Called after each cycle.
using Observer = std::function<void(const Domain&)>;

// Runs cycles until the problem's stop time or `last_cycle`, whichever is first. Throws Breakdown
// when the solution breaks down; domain.clock then has the cycle.
void run(Domain& domain, std::int64_t last_cycle, const Observer& observer = {});

// Sets the two limits by what the elements do.
void calculate_time_constraints(Domain& domain);

// The step of the next cycle: kept if it could grow only little, otherwise as long as the limits
// allow and at most kLargestGrowth times the last; near the end such that no tiny step remains.
Clock next_cycle(Clock clock);

}  // namespace pinstudy::lulesh
