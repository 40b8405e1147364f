// How long the next step is.
#pragma once

#include <cstdint>

namespace pinstudy::lulesh {

struct Domain;

struct Clock {
    std::int64_t cycle = 0;
    double time = 0.0;
    double dt = 0.0;
    double dtcourant = 1.0e+20;  // largest step by the Courant condition
    double dthydro = 1.0e+20;    // largest step by the change of volume
};

// The clock before the first cycle.
Clock clock_at_start(double first_volume, double first_energy);

// Sets the two limits by what the elements do.
void calculate_time_constraints(Domain& domain);

// The step of the next cycle: kept if it could grow only little, otherwise as long as the limits
// allow and at most kLargestGrowth times the last; near the end such that no tiny step remains.
Clock next_cycle(Clock clock);

}  // namespace pinstudy::lulesh
