#include "apps/lulesh/material.hpp"

#include <algorithm>
#include <cmath>

#include "apps/common/parallel_loop.hpp"
#include "apps/lulesh/breakdown.hpp"
#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/eos.hpp"
#include "apps/lulesh/temporary.hpp"

namespace pinstudy::lulesh {
namespace {

// The new volumes within the limits of the equation of state.
void limit_volumes(const Elements& elements, Index count, Temporary& volume) {
    VolumeCheck check;
#pragma omp parallel
    {
        share_loop(0, count, [&](Index i) { volume[i] = elements.vnew[i]; });
#pragma omp barrier
        share_loop(0, count, [&](Index i) { volume[i] = std::max(volume[i], kLowestVolume); });
#pragma omp barrier
        share_loop(0, count, [&](Index i) { volume[i] = std::min(volume[i], kHighestVolume); });
        share_loop(0, count, [&](Index i) { check.look_at(elements.v[i]); });
    }
    check.require_positive();
}

}  // namespace

void apply_material_properties(Domain& domain) {
    const Index count = domain.mesh.element_count;
    Temporary volume = temporary(count);
    limit_volumes(domain.elements, count, volume);
    for (std::size_t region = 0; region < domain.regions.elements.size(); ++region) {
        evaluate_equation_of_state(domain.elements, volume, domain.regions.elements[region],
                                   domain.regions.repetitions[region]);
    }
}

void update_volumes(Domain& domain) {
    Elements& elements = domain.elements;
    parallel_loop(0, domain.mesh.element_count, [&](Index i) {
        const double v = elements.vnew[i];
        elements.v[i] = std::abs(v - 1.0) < kVolumeCut ? 1.0 : v;
    });
}

}  // namespace pinstudy::lulesh
