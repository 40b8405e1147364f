// How the nodes move under the forces on them.
#pragma once

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

// Accelerations, none across a plane of symmetry; velocities, and positions after `dt`.
void move_nodes(Domain& domain, double dt);

}  // namespace pinstudy::lulesh
