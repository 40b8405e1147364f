// Whether a result is right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/program.hpp"
#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

// How far the energies of the plane of elements at z = 0 are from the symmetry of the problem:
// differences between (x, y) and (y, x).
struct Symmetry {
    double largest = 0.0;           // absolute
    double total = 0.0;             // sum of the absolute
    double largest_relative = 0.0;  // to the energy at (y, x); 0 where both are equal
};

// `energies` begins with the edge * edge elements of the plane, x fastest.
Symmetry symmetry_of_origin_plane(const std::vector<double>& energies, Index edge);

// What a run to the problem's stop time must yield.
struct Reference {
    Index edge;
    std::int64_t cycles;
    const char* origin_energy;  // in the digits that are printed (%.6e)
};

// The published result for a size (LLNL-TR-641973, section 4.3, where it has the size), if any.
std::optional<Reference> reference_for(Index edge);

// The final values that the check looks at.
struct Summary {
    Index edge = 0;
    std::int64_t cycles = 0;
    bool complete = false;  // the stop time was reached
    double origin_energy = 0.0;
    Symmetry symmetry;
    bool finite = true;          // all fields
    double lowest_volume = 1.0;  // relative
};

Summary summarise(const Domain& domain);

// Passes if everything is finite, volumes are positive, the origin plane is symmetric within
// kLargestAsymmetry, and, for a complete run of a size with a reference, cycles and energy agree.
Verdict check(const Summary& summary);

// On the largest relative difference. Roundings leave less than 1e-11 of it at every size to 90.
inline constexpr double kLargestAsymmetry = 1.0e-8;

}  // namespace pinstudy::lulesh
