// The forces of the elements on the nodes: from the stress in the gas, and against hourglass
// motion.
#pragma once

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

// The forces on the nodes at the beginning of a step: zero, then stress, then hourglass control.
// Throws Breakdown if an element's volume is not positive.
void calculate_forces(Domain& domain);

// The area vector that belongs to each corner: a quarter of each of the three faces that meet
// there, pointing outwards.
Corners corner_areas(const Corners& x);

// The derivative of an element's volume by the position of each corner.
Corners volume_derivatives(const Corners& x);

// The forces that resist the hourglass modes of an element (Flanagan and Belytschko 1981): motion
// of the corners that is no uniform strain. `coefficient` is their strength, negative for
// resistance.
Corners hourglass_forces(const Corners& x, const Corners& u, const Corners& volume_derivatives,
                         double volume, double coefficient);

}  // namespace pinstudy::lulesh
