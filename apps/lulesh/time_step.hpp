// How long the next step is.
#pragma once

#include <cstdint>

#include "apps/lulesh/material.hpp"

namespace pinstudy::lulesh {

struct Clock {
    std::int64_t cycle = 0;
    double time = 0.0;
    double dt = 0.0;
    double dtcourant = 1.0e+20;  // largest step by the Courant condition
    double dthydro = 1.0e+20;    // largest step by the change of volume
};

// The clock before the first cycle.
Clock clock_at_start(double first_volume, double first_energy);

// The two limits that the constraints stand for.
void constrain(Clock& clock, const Constraints& constraints);

// The step of the next cycle: kept if it could grow only little, otherwise as long as the limits
// allow and at most kLargestGrowth times the last; near the end such that no tiny step remains.
Clock next_cycle(Clock clock);

}  // namespace pinstudy::lulesh
