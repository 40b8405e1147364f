#include "apps/lulesh/material.hpp"

#include <algorithm>
#include <cmath>

#include "apps/common/parallel_loop.hpp"
#include "apps/lulesh/constants.hpp"

namespace pinstudy::lulesh {
namespace {

// The elements of a region, gathered: entry i belongs to the i-th element of the region.
struct RegionState {
    explicit RegionState(Index count)
        : e_old(temporary(count)),
          delv(temporary(count)),
          p_old(temporary(count)),
          q_old(temporary(count)),
          compression(temporary(count)),
          half_compression(temporary(count)),
          qq(temporary(count)),
          ql(temporary(count)),
          work(temporary(count)),
          p(temporary(count)),
          e(temporary(count)),
          q(temporary(count)),
          bvc(temporary(count)),
          pbvc(temporary(count)) {}

    Temporary e_old, delv, p_old, q_old;
    Temporary compression, half_compression;  // 1/v - 1 at the end and at the middle of the step
    Temporary qq, ql;
    Temporary work;
    Temporary p, e, q;    // the new values
    Temporary bvc, pbvc;  // derivatives of the pressure by energy and by volume
};

// A region, the relative volumes of all elements, and how many elements the region has.
struct Region {
    const std::vector<Index>& elements;
    const Temporary& volume;
    Index count;

    double volume_of(Index i) const { return volume[elements[i]]; }
};

void gather(const Elements& elements, const Region& region, RegionState& state) {
#pragma omp parallel
    {
        share_loop(0, region.count, [&](Index i) {
            const Index element = region.elements[i];
            state.e_old[i] = elements.e[element];
            state.delv[i] = elements.delv[element];
            state.p_old[i] = elements.p[element];
            state.q_old[i] = elements.q[element];
            state.qq[i] = elements.qq[element];
            state.ql[i] = elements.ql[element];
        });
        share_loop(0, region.count, [&](Index i) {
            const double volume = region.volume_of(i);
            state.compression[i] = 1.0 / volume - 1.0;
            state.half_compression[i] =
                1.0 / (volume - 0.5 * elements.delv[region.elements[i]]) - 1.0;
        });
#pragma omp barrier
        share_loop(0, region.count, [&](Index i) {
            if (region.volume_of(i) <= kLowestVolume) {
                state.half_compression[i] = state.compression[i];
            }
        });
        share_loop(0, region.count, [&](Index i) {
            if (region.volume_of(i) >= kHighestVolume) {
                state.p_old[i] = state.compression[i] = state.half_compression[i] = 0.0;
            }
        });
        share_loop(0, region.count, [&](Index i) { state.work[i] = 0.0; });
    }
}

void calculate_pressure(const Region& region, RegionState& state, const Temporary& compression,
                        Temporary& p) {
    parallel_loop(0, region.count, [&](Index i) {
        state.bvc[i] = kGammaMinusOne * (compression[i] + 1.0);
        state.pbvc[i] = kGammaMinusOne;
    });
    parallel_loop(0, region.count, [&](Index i) {
        p[i] = state.bvc[i] * state.e[i];
        if (std::abs(p[i]) < kPressureCut || region.volume_of(i) >= kHighestVolume) {
            p[i] = 0.0;
        }
        p[i] = std::max(p[i], kLowestPressure);
    });
}

double sound_speed(double e, double volume, double p, double bvc, double pbvc) {
    const double square = (pbvc * e + volume * volume * bvc * p) / kReferenceDensity;
    return square <= kSoundSpeedSquareFloor ? kSoundSpeedFloor : std::sqrt(square);
}

// The artificial viscosity of element i of a region at pressure p and relative volume `volume`;
// nothing if it expands.
double viscosity(const RegionState& state, Index i, double volume, double p) {
    if (state.delv[i] > 0.0) {
        return 0.0;
    }
    return sound_speed(state.e[i], volume, p, state.bvc[i], state.pbvc[i]) * state.ql[i] +
           state.qq[i];
}

double limited_energy(double e) {
    return std::max(std::abs(e) < kEnergyCut ? 0.0 : e, kLowestEnergy);
}

// Energy by a predictor at the middle of the step and two correctors; the work done is -(p + q) dv.
void calculate_energy(const Region& region, RegionState& state) {
    Temporary half_p = temporary(region.count);

    parallel_loop(0, region.count, [&](Index i) {
        state.e[i] =
            std::max(state.e_old[i] - 0.5 * state.delv[i] * (state.p_old[i] + state.q_old[i]) +
                         0.5 * state.work[i],
                     kLowestEnergy);
    });
    calculate_pressure(region, state, state.half_compression, half_p);
    parallel_loop(0, region.count, [&](Index i) {
        state.q[i] = viscosity(state, i, 1.0 / (1.0 + state.half_compression[i]), half_p[i]);
        state.e[i] += 0.5 * state.delv[i] *
                      (3.0 * (state.p_old[i] + state.q_old[i]) - 4.0 * (half_p[i] + state.q[i]));
    });
    parallel_loop(0, region.count,
                  [&](Index i) { state.e[i] = limited_energy(state.e[i] + 0.5 * state.work[i]); });
    calculate_pressure(region, state, state.compression, state.p);
    parallel_loop(0, region.count, [&](Index i) {
        const double q = viscosity(state, i, region.volume_of(i), state.p[i]);
        state.e[i] =
            limited_energy(state.e[i] - (7.0 * (state.p_old[i] + state.q_old[i]) -
                                         8.0 * (half_p[i] + state.q[i]) + (state.p[i] + q)) *
                                            state.delv[i] / 6.0);
    });
    calculate_pressure(region, state, state.compression, state.p);
    parallel_loop(0, region.count, [&](Index i) {
        if (state.delv[i] <= 0.0) {
            const double q = viscosity(state, i, region.volume_of(i), state.p[i]);
            state.q[i] = std::abs(q) < kViscosityCut ? 0.0 : q;
        }
    });
}

void store(Elements& elements, const Region& region, const RegionState& state) {
    parallel_loop(0, region.count, [&](Index i) {
        const Index element = region.elements[i];
        elements.p[element] = state.p[i];
        elements.e[element] = state.e[i];
        elements.q[element] = state.q[i];
    });
}

void calculate_sound_speed(Elements& elements, const Region& region, const RegionState& state) {
    parallel_loop(0, region.count, [&](Index i) {
        elements.ss[region.elements[i]] =
            sound_speed(state.e[i], region.volume_of(i), state.p[i], state.bvc[i], state.pbvc[i]);
    });
}

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

void evaluate_equation_of_state(Elements& elements, const Temporary& volume,
                                const std::vector<Index>& region_elements,
                                std::int64_t repetitions) {
    const Region region{region_elements, volume, static_cast<Index>(region_elements.size())};
    RegionState state(region.count);
    for (std::int64_t i = 0; i < repetitions; ++i) {
        gather(elements, region, state);
        calculate_energy(region, state);
    }
    store(elements, region, state);
    calculate_sound_speed(elements, region, state);
}

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
