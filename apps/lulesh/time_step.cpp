#include "apps/lulesh/time_step.hpp"

#include <algorithm>
#include <cmath>

#include "apps/lulesh/constants.hpp"

namespace pinstudy::lulesh {
namespace {

double limited_step(const Clock& clock) {
    double step = kNoConstraint;
    if (clock.dtcourant < step) {
        step = clock.dtcourant / 2.0;
    }
    // The limit itself is compared, and two thirds of it taken: with dthydro between step and
    // 1.5 step the step stays longer than that. It is part of the problem's reference results.
    if (clock.dthydro < step) {
        step = clock.dthydro * 2.0 / 3.0;
    }
    const double ratio = step / clock.dt;
    if (ratio >= 1.0) {
        if (ratio < kKeepStepBelow) {
            step = clock.dt;
        } else if (ratio > kLargestGrowth) {
            step = clock.dt * kLargestGrowth;
        }
    }
    return std::min(step, kLargestStep);
}

}  // namespace

Clock clock_at_start(double first_volume, double first_energy) {
    Clock clock;
    clock.dt = 0.5 * std::cbrt(first_volume) / std::sqrt(2.0 * first_energy);
    return clock;
}

void constrain(Clock& clock, const Constraints& constraints) {
    clock.dtcourant = constraints.courant;
    // Division is monotonic also after rounding: the largest rate gives the smallest quotient.
    clock.dthydro = constraints.volume_rate > 0.0
                        ? kVolumeChange / (constraints.volume_rate + 1.0e-20)
                        : kNoConstraint;
}

Clock next_cycle(Clock clock) {
    if (clock.cycle > 0) {
        clock.dt = limited_step(clock);
    }
    double remaining = kStopTime - clock.time;
    if (remaining > clock.dt && remaining < 4.0 * clock.dt / 3.0) {
        remaining = 2.0 * clock.dt / 3.0;
    }
    clock.dt = std::min(clock.dt, remaining);
    clock.time += clock.dt;
    ++clock.cycle;
    return clock;
}

}  // namespace pinstudy::lulesh
