// The equation of state of an element: one pure function, from what the step did to its volume to
// its new energy, pressure, viscosity and sound speed.
#pragma once

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/geometry.hpp"

namespace pinstudy::lulesh {

struct EosInput {
    Real e, p, q;  // before the step
    Real v;        // relative volume after the step
    Real delv;     // its change in the step
    Real ql, qq;   // linear and quadratic part of the artificial viscosity
};

struct EosResult {
    Real e, p, q;
    Real ss;  // sound speed
};

namespace eos {

inline Real energy_limits(Real e) {
    return max(abs(e) < kEnergyCut ? Real{} : e, splat(kLowestEnergy));
}

// Pressure at energy `e`; `slope` = (gamma - 1) (mu + 1) is its derivative by e.
inline Real pressure(Real e, Real slope, Bits too_thin) {
    const Real p = slope * e;
    const Real cut = abs(p) < kPressureCut ? Real{} : p;
    return max(too_thin ? Real{} : cut, splat(kLowestPressure));
}

inline Real sound_speed(Real e, Real volume, Real slope, Real p) {
    const Real square = (kGammaMinusOne * e + volume * volume * slope * p) / kReferenceDensity;
    return square <= kSoundSpeedSquareFloor ? splat(kSoundSpeedFloor) : sqrt(square);
}

}  // namespace eos

// Energy by a predictor at the middle of the step and two correctors; work done is -(p + q) dv.
inline EosResult equation_of_state(const EosInput& in) {
    using namespace eos;
    const Bits too_dense = in.v <= kLowestVolume;
    const Bits too_thin = in.v >= kHighestVolume;
    const Real clamped = max(in.v, splat(kLowestVolume));
    const Real half_step = too_dense ? clamped : clamped - 0.5 * in.delv;
    const Real volume = too_thin ? splat(1.0) : clamped;
    const Real half_volume = too_thin ? splat(1.0) : half_step;
    const Real slope = kGammaMinusOne / volume;
    const Real half_slope = kGammaMinusOne / half_volume;
    const Real old_stress = (too_thin ? Real{} : in.p) + in.q;
    const Bits contracts = in.delv <= 0.0;
    const bool some_contract = any(contracts);
    const auto viscosity = [&](Real e, Real vol, Real b, Real p) {
        if (!some_contract) {
            return Real{};
        }
        return contracts ? sound_speed(e, vol, b, p) * in.ql + in.qq : Real{};
    };

    const Real e1 = max(in.e - 0.5 * in.delv * old_stress, splat(kLowestEnergy));
    const Real p1 = pressure(e1, half_slope, too_thin);
    const Real q1 = viscosity(e1, half_volume, half_slope, p1);

    const Real e2 = energy_limits(e1 + 0.5 * in.delv * (3.0 * old_stress - 4.0 * (p1 + q1)));
    const Real p2 = pressure(e2, slope, too_thin);
    const Real q2 = viscosity(e2, volume, slope, p2);

    const Real e3 = energy_limits(e2 - in.delv * (7.0 * old_stress - 8.0 * (p1 + q1) + (p2 + q2)) *
                                           (1.0 / 6.0));
    const Real p3 = pressure(e3, slope, too_thin);
    const Real ss = sound_speed(e3, volume, slope, p3);
    const Real q3 = contracts ? ss * in.ql + in.qq : Real{};
    return {e3, p3, abs(q3) < kViscosityCut ? Real{} : q3, ss};
}

}  // namespace pinstudy::lulesh
