// Material regions: index lists of elements whose equation of state costs differently.
//
// Every region holds the same gas, so no result depends on them; only the work does, and who does
// it. Elements are dealt to regions in runs of random length (LLNL-TR-641973).
#pragma once

#include <cstdint>
#include <vector>

#include "apps/lulesh/simd.hpp"

namespace pinstudy::lulesh {

struct RegionOptions {
    std::int64_t regions = 11;
    std::int64_t balance = 1;     // region k is drawn with weight k^balance
    std::int64_t extra_cost = 1;  // more repetitions for the regions that repeat
};

// The largest sum of weights k^balance that can be drawn from.
inline constexpr std::int64_t kLargestWeight = 2147483647;

// The sum of k^balance for k = 1..regions, or kLargestWeight + 1 if it is larger than
// kLargestWeight.
std::int64_t total_weight(std::int64_t regions, std::int64_t balance);

// How often the equation of state is evaluated for the elements of a region (0-based): once in the
// lower half of the regions, 1 + extra_cost times in most others, and ten times that in the last
// twentieth (rounded up from a quarter).
std::int64_t eos_repetitions(std::int64_t region, std::int64_t regions, std::int64_t extra_cost);

// The region (0-based) of each element. Draws from glibc's rand() with seed 0, as the published
// element counts do.
std::vector<Index> assign_regions(Index elements, const RegionOptions& options);

// A piece of one region's index list.
struct WorkItem {
    std::size_t begin;  // index into RegionLists::elements, a multiple of kLanes
    std::size_t end;
    std::int64_t repetitions;
};

struct RegionLists {
    RegionLists(const std::vector<Index>& region_of_element, const RegionOptions& options);

    // Region after region the numbers of its elements in increasing order. Each region's list is
    // filled up to a multiple of kLanes by repeating its last element.
    std::vector<Index> elements;
    // The lists cut into pieces of about equal cost, so that each piece of a region that is
    // evaluated often is short. They are independent of each other.
    std::vector<WorkItem> items;
    std::vector<Index> sizes;  // elements of each region, without the filling
    double eos_factor;         // evaluations of the equation of state per element and cycle
};

}  // namespace pinstudy::lulesh
