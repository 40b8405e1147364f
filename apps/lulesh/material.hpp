// Phase 4 of a cycle: the gas of each region answers to its new volume.
#pragma once

#include "apps/lulesh/fields.hpp"
#include "apps/lulesh/regions.hpp"
#include "apps/lulesh/viscosity.hpp"

namespace pinstudy::lulesh {

// What limits the next step, over some elements.
struct Constraints {
    double courant;      // lowest crossing time of sound, kNoConstraint if nothing changes volume
    double volume_rate;  // highest |vdov|
    double viscosity;    // highest q before this cycle's equation of state
};

inline constexpr Constraints kUnconstrained{1.0e+20, 0.0, 0.0};

Constraints tighter(const Constraints& a, const Constraints& b);

// Artificial viscosity, equation of state (as many times as the region's cost says), sound speed
// and relative volume of the item's elements; returns their constraints.
Constraints update_material(const Mesh& mesh, Fields& fields, const RegionLists& lists,
                            const WorkItem& item);

// The artificial viscosity terms of kLanes elements as of the last cycle.
ArtificialViscosity viscosity_of(const Mesh& mesh, const Fields& fields, const Index* elements);

}  // namespace pinstudy::lulesh
