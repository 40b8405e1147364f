#include "apps/lulesh/verification.hpp"

#include <algorithm>
#include <cmath>

#include "apps/lulesh/constants.hpp"

namespace pinstudy::lulesh {
namespace {

constexpr Reference kReferences[] = {
    {1, 1, "4.333329e+02"},     {2, 5, "2.746125e+03"},     {5, 72, "7.853665e+03"},
    {8, 163, "1.788182e+04"},   {10, 231, "2.720531e+04"},  {15, 400, "5.702894e+04"},
    {20, 575, "9.668856e+04"},  {30, 932, "2.025075e+05"},  {45, 1477, "4.234875e+05"},
    {50, 1662, "5.124778e+05"}, {70, 2402, "9.417145e+05"}, {90, 3145, "1.482403e+06"}};

bool all_finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](double value) { return std::isfinite(value); });
}

std::string result_text(std::int64_t cycles, const std::string& energy) {
    return std::to_string(cycles) + " cycles and origin energy " + energy;
}

}  // namespace

Symmetry symmetry_of_origin_plane(const std::vector<double>& energies, Index edge) {
    Symmetry result;
    for (Index y = 0; y < edge; ++y) {
        for (Index x = y + 1; x < edge; ++x) {
            const double one = energies[y * edge + x];
            const double other = energies[x * edge + y];
            const double difference = std::abs(one - other);
            result.total += difference;
            result.largest = std::max(result.largest, difference);
            if (difference != 0.0) {
                result.largest_relative =
                    std::max(result.largest_relative, difference / std::abs(other));
            }
        }
    }
    return result;
}

std::optional<Reference> reference_for(Index edge) {
    const auto* const found =
        std::find_if(std::begin(kReferences), std::end(kReferences),
                     [edge](const Reference& reference) { return reference.edge == edge; });
    return found == std::end(kReferences) ? std::nullopt : std::optional(*found);
}

Summary summarise(const Domain& domain) {
    const Elements& elements = domain.elements;
    const Nodes& nodes = domain.nodes;
    Summary summary;
    summary.edge = domain.mesh.edge;
    summary.cycles = domain.clock.cycle;
    summary.complete = domain.clock.time >= kStopTime;
    summary.origin_energy = elements.e[0];
    summary.symmetry = symmetry_of_origin_plane(elements.e, domain.mesh.edge);
    for (const std::vector<double>* const field :
         {&elements.e, &elements.p, &elements.q, &elements.v, &elements.ss, &elements.vdov,
          &nodes.x, &nodes.y, &nodes.z, &nodes.xd, &nodes.yd, &nodes.zd}) {
        summary.finite = summary.finite && all_finite(*field);
    }
    summary.lowest_volume = *std::min_element(elements.v.begin(), elements.v.end());
    return summary;
}

Verdict check(const Summary& summary) {
    if (!summary.finite) {
        return {false, "a field holds infinite values or no numbers"};
    }
    if (!(summary.lowest_volume > 0.0)) {
        return {false, "an element's volume is not positive"};
    }
    const std::string asymmetry = printed("asymmetry %.1e", summary.symmetry.largest_relative);
    if (!(summary.symmetry.largest_relative <= kLargestAsymmetry)) {
        return {false, asymmetry + printed(" of the origin plane, at most %.0e expected",
                                           kLargestAsymmetry)};
    }
    const std::string common = "finite, volumes positive, " + asymmetry;
    const std::string energy = printed("%.6e", summary.origin_energy);
    const auto reference = reference_for(summary.edge);
    if (!summary.complete) {
        return {true, common + ", no reference before the stop time"};
    }
    if (!reference) {
        return {true, common + ", no reference for this size"};
    }
    const std::string found = result_text(summary.cycles, energy);
    if (summary.cycles != reference->cycles || energy != reference->origin_energy) {
        return {false,
                found + ", expected " + result_text(reference->cycles, reference->origin_energy)};
    }
    return {true, common + ", " + found + " as published"};
}

}  // namespace pinstudy::lulesh
