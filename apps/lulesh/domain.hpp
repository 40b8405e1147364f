// The problem as a whole: mesh, regions and fields, made by the threads that will work on them.
#pragma once

#include "apps/lulesh/fields.hpp"
#include "apps/lulesh/mesh.hpp"
#include "apps/lulesh/regions.hpp"
#include "apps/lulesh/time_step.hpp"

namespace pinstudy::lulesh {

struct Domain {
    // Throws std::bad_alloc.
    Domain(Index edge, const RegionOptions& options);

    Mesh mesh;
    RegionLists regions;
    Fields fields;
    Clock clock;
};

}  // namespace pinstudy::lulesh
