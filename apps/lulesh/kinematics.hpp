// Phase 3 of a cycle: how the elements' shapes have changed with their nodes.
#pragma once

#include "apps/lulesh/fields.hpp"

namespace pinstudy::lulesh {

// The exact volume of hexahedra whose faces are bilinear. Never inlined, where the compiler might
// contract its products differently: an element that did not move must have the very volume it had.
[[gnu::noinline]] Real hexahedron_volume(const Corners& corners);

// Four times the volume over the square root of the largest face measure, which for a
// parallelepiped is the distance between its two largest faces.
Real characteristic_length(const Corners& corners, Real volume);

// From the moved nodes: volumes (v, delv), rates (vdov, at the middle of the step), lengths
// (arealg) and gradients of the blocks of elements. Returns the lowest relative volume.
double element_kinematics(const Mesh& mesh, Fields& fields, double dt, Range blocks);

}  // namespace pinstudy::lulesh
