// The time loop.
#pragma once

#include <cstdint>
#include <functional>

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

enum class Outcome { kFinished, kNegativeVolume, kViscosityOutOfBounds };

// Called after each cycle by one thread while the others wait.
using Observer = std::function<void(const Domain&, const Clock&)>;

// Runs cycles until the problem's stop time or `last_cycle`, whichever is first, or until the
// solution breaks down. domain.clock and the fields are those after the last cycle.
Outcome run(Domain& domain, std::int64_t last_cycle, const Observer& observer = {});

}  // namespace pinstudy::lulesh
