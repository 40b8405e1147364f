// The options by which the command line says where the threads of a team are to be.
#pragma once

#include <cstdint>
#include <string>

#include "apps/common/assigned_cpus.hpp"
#include "apps/common/node_placements.hpp"
#include "apps/common/options.hpp"

namespace pinstudy {

struct PlacementOptions {
    std::string placement = kAllPlacements;
    std::string kinds;
    bool single = false;
    AssignedCpus assigned;

    // Adds --placement, --kinds, --single, --pin and --expect; what they are given is kept here, so
    // this must outlive the parsing.
    void add_to(Options& options);

    // One placement, the one that the threads were given, and one line a value.
    bool one_placement() const { return single || assigned.given(); }

    // Why so many threads cannot be placed as asked, or an empty text.
    std::string why_not(std::int64_t threads) const;
};

}  // namespace pinstudy
