// The gas of each region answers to its new volume: energy, pressure, viscosity, sound speed.
#pragma once

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

// Evaluates the equation of state of every region, as often as the region's cost says. Throws
// Breakdown if an element's volume is not positive.
void apply_material_properties(Domain& domain);

// Makes the new volumes the present ones.
void update_volumes(Domain& domain);

}  // namespace pinstudy::lulesh
