// The equation of state of the elements of a region: an ideal gas with gamma = 5/3.
#pragma once

#include <vector>

#include "apps/lulesh/domain.hpp"
#include "apps/lulesh/temporary.hpp"

namespace pinstudy::lulesh {

// Energy, pressure, viscosity and sound speed of the elements of a region, from the change of their
// volumes in the step. `volume`: the relative volumes at the end of the step, of all elements. The
// evaluation is repeated, each time from the same values, and only the last one is kept.
void evaluate_equation_of_state(Elements& elements, const Temporary& volume,
                                const std::vector<Index>& region, std::int64_t repetitions);

}  // namespace pinstudy::lulesh
