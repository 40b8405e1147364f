// Phase 2 of a cycle: the nodes move.
#pragma once

#include "apps/lulesh/fields.hpp"
#include "apps/lulesh/seams.hpp"

namespace pinstudy::lulesh {

// Acceleration, velocity and position of the nodes from the forces on them, which are set back to
// 0. A node on a plane of symmetry stays on it.
void move_nodes(const Mesh& mesh, Fields& fields, const Seams& seams, double dt, Range nodes);

}  // namespace pinstudy::lulesh
