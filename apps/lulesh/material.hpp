// The gas of each region answers to its new volume: energy, pressure, viscosity, sound speed.
#pragma once

#include <vector>

#include "apps/lulesh/domain.hpp"
#include "apps/lulesh/temporary.hpp"

namespace pinstudy::lulesh {

// The equation of state of an ideal gas with gamma = 5/3: Energy, pressure, viscosity and sound
// speed of the elements of a region, from the change of their volumes in the step. `volume`: the
// relative volumes at the end of the step, of all elements. The evaluation is repeated, each time
// from the same values, and only the last one is kept.
void evaluate_equation_of_state(Elements& elements, const Temporary& volume,
                                const std::vector<Index>& region, std::int64_t repetitions);

// Evaluates the equation of state of every region, as often as the region's cost. Throws
// Breakdown if an element's volume is not positive.
void apply_material_properties(Domain& domain);

// Makes the new volumes the present ones.
void update_volumes(Domain& domain);

}  // namespace pinstudy::lulesh
