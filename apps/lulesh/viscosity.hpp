// The monotonic artificial viscosity of an element (Christensen, UCRL-JC-105269, 1991).
#pragma once

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/geometry.hpp"

namespace pinstudy::lulesh {

// The velocity difference over an element along one of its axes, and over its two neighbours.
struct AxisGradient {
    Real delv;   // relative to the element's size
    Real delx;   // that size
    Real minus;  // delv of the neighbour on either side
    Real plus;
};

struct ArtificialViscosity {
    Real linear;     // ql, the part in proportion to the velocity difference
    Real quadratic;  // qq, to its square
};

// The limiter: 1 where the velocity field is smooth (no viscosity is needed), 0 at a shock.
inline Real limiter(const AxisGradient& axis) {
    const Real norm = 1.0 / (axis.delv + kTiny);
    const Real minus = axis.minus * norm;
    const Real plus = axis.plus * norm;
    Real phi = 0.5 * (minus + plus);
    phi = min(phi, kLimiterMultiplier * minus);
    phi = min(phi, kLimiterMultiplier * plus);
    return min(max(phi, Real{}), splat(kLimiterMaximum));
}

// `v` is the relative volume, `vdov` its rate: what expands has no viscosity.
inline ArtificialViscosity monotonic_viscosity(const AxisGradient (&axes)[3], Real v, Real vdov) {
    Real linear{};
    Real quadratic{};
    for (const AxisGradient& axis : axes) {
        const Real phi = limiter(axis);
        const Real jump = min(axis.delv * axis.delx, Real{});
        linear += jump * (1.0 - phi);
        quadratic += jump * jump * (1.0 - phi * phi);
    }
    const Real density = kReferenceDensity / v;
    const auto expands = vdov > 0.0;
    return {expands ? Real{} : -kLinearViscosity * density * linear,
            expands ? Real{} : kQuadraticViscosity * density * quadratic};
}

}  // namespace pinstudy::lulesh
