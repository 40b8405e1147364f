// The monotonic artificial viscosity, which spreads a shock over some elements (Christensen,
// UCRL-JC-105269, 1991).
#pragma once

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

// The viscosity terms (ql, qq) of all elements, from the velocities at the end of the step. Throws
// Breakdown if the viscosity of the last step is above qstop.
void calculate_viscosity(Domain& domain);

// What an element and its neighbours on both sides see along one of the element's axes.
struct AxisGradient {
    double delv;   // velocity difference over the element, relative to its size
    double delx;   // that size
    double minus;  // delv of the neighbours
    double plus;
};

struct ViscosityTerms {
    double linear;     // ql, in proportion to the velocity difference
    double quadratic;  // qq, to its square
};

// The limiter: 1 where the velocity field is smooth (no viscosity is needed), 0 at a shock.
double limiter(const AxisGradient& axis);

ViscosityTerms monotonic_viscosity(const AxisGradient (&axes)[3], double density);

}  // namespace pinstudy::lulesh
