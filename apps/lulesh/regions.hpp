// Material regions: index lists of elements whose equation of state costs differently.
//
// Every region holds the same gas, so no result depends on them; only the work does, and who does
// it. Elements are dealt to regions in runs of random length (LLNL-TR-641973).
#pragma once

#include <cstdint>
#include <vector>

#include "apps/lulesh/geometry.hpp"

namespace pinstudy::lulesh {

struct RegionOptions {
    std::int64_t regions = 11;
    std::int64_t balance = 1;     // region k is drawn with weight k^balance
    std::int64_t extra_cost = 1;  // more repetitions for the regions that repeat
};

// The largest sum of weights k^balance that can be drawn from.
inline constexpr std::int64_t kLargestWeight = 2147483647;

// The sum of k^balance for k = 1..regions, or any number above kLargestWeight if it is above that.
std::int64_t total_weight(std::int64_t regions, std::int64_t balance);

// How often the equation of state is evaluated for the elements of a region (0-based): once in the
// lower half of the regions, 1 + extra_cost times in most others, and ten times that in the last
// twentieth (rounded up from a quarter).
std::int64_t eos_repetitions(std::int64_t region, std::int64_t regions, std::int64_t extra_cost);

// The region (0-based) of each element. Draws from glibc's rand() with seed 0, as the published
// element counts do.
std::vector<Index> assign_regions(Index elements, const RegionOptions& options);

struct Regions {
    Regions(Index element_count, const RegionOptions& options);

    std::vector<Index> of_element;
    std::vector<std::vector<Index>> elements;  // of each region, in increasing order
    std::vector<std::int64_t> repetitions;     // of each region's equation of state
    double eos_factor;  // evaluations of the equation of state per element and cycle
};

}  // namespace pinstudy::lulesh
