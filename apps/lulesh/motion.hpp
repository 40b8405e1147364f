// Phase 2 of a cycle: the nodes move.
#pragma once

#include "apps/lulesh/fields.hpp"

namespace pinstudy::lulesh {

// Sums the forces of the corners that meet in each node, in increasing order of the elements, and
// so to the same bits whichever thread does it; then acceleration, velocity and position. A node on
// a plane of symmetry stays on it.
void move_nodes(const Mesh& mesh, Fields& fields, double dt, Range nodes);

// The force on a node as of the last cycle, before the conditions of symmetry.
Quad force_on_node(const Mesh& mesh, const Fields& fields, Index node);

}  // namespace pinstudy::lulesh
