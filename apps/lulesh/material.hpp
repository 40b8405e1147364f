// Phase 4 of a cycle: the gas of each region answers to its new volume.
#pragma once

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/element_access.hpp"
#include "apps/lulesh/fields.hpp"
#include "apps/lulesh/regions.hpp"
#include "apps/lulesh/viscosity.hpp"

namespace pinstudy::lulesh {

// What limits the next step, over some elements.
struct Constraints {
    double courant = kNoConstraint;  // lowest crossing time of sound where a volume changes
    double volume_rate = 0.0;        // highest |vdov|
    double viscosity = 0.0;          // highest q before this cycle's equation of state
};

Constraints tighter(const Constraints& a, const Constraints& b);

// The same for the elements in each lane.
struct ConstraintLanes {
    Real courant = splat(kNoConstraint);
    Real volume_rate{};
    Real viscosity{};

    Constraints over_all() const {
        return {lowest(courant), highest(volume_rate), highest(viscosity)};
    }
};

// Artificial viscosity, equation of state (as many times as the region's cost says), sound speed
// and relative volume of the item's elements; tightens `limits` by their constraints.
void update_material(const Mesh& mesh, Fields& fields, const RegionLists& lists,
                     const WorkItem& item, ConstraintLanes& limits);

// The artificial viscosity terms of kLanes elements as of the last cycle.
ArtificialViscosity viscosity_of(const Mesh& mesh, const Fields& fields, const ElementGroup& group);

}  // namespace pinstudy::lulesh
