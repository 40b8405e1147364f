// Phase 1 of a cycle: the forces of the elements on their corners.
#pragma once

#include "apps/lulesh/fields.hpp"
#include "apps/lulesh/seams.hpp"

namespace pinstudy::lulesh {

// What kLanes elements bring to their forces.
struct ElementState {
    Real stress;     // p + q
    Real volume;     // present volume
    Real hourglass;  // factor of the hourglass force: -hgcoef ss mass / cbrt(volume)
};

// The force on each corner from the stress in the element (its pressure on the areas around the
// corner) and from the resistance to hourglass motion.
Corners corner_forces(const Corners& x, const Corners& u, const ElementState& state);

// Twelve times the derivative of an element's volume by the position of each corner.
Corners volume_derivatives(const Corners& x);

// Adds the forces of the blocks of elements to fields.force, or keeps them in `seams`.
void element_forces(const Mesh& mesh, Fields& fields, Seams& seams, Range blocks);

}  // namespace pinstudy::lulesh
