// How the elements' shapes change with their nodes.
#pragma once

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {

// Volumes (vnew, delv), lengths (arealg) and rates (vdov, at the middle of the step) of the
// elements after their nodes have moved. Throws Breakdown if an element's volume is not positive.
void calculate_kinematics(Domain& domain, double dt);

// The exact volume of a hexahedron whose faces are bilinear. Never inlined, where the compiler
// might contract its products differently: an element that did not move must have the very volume
// it had.
[[gnu::noinline]] double hexahedron_volume(const Corners& x);

// Four times the volume over the square root of the largest face measure, which for a
// parallelepiped is the distance between its two largest faces.
double characteristic_length(const Corners& x, double volume);

// The derivatives of the shape functions at the centre of an element, times the determinant. Those
// of the corners 6, 7, 4 and 5 are those of 0, 1, 2 and 3 with the other sign.
struct ShapeDerivatives {
    std::array<Vec3, kCorners> b;
    double determinant;  // of the Jacobian, times 8: the volume, if the faces are plane
};

inline ShapeDerivatives shape_derivatives(const Corners& x) {
    const Vec3 d60 = x[6] - x[0];
    const Vec3 d53 = x[5] - x[3];
    const Vec3 d71 = x[7] - x[1];
    const Vec3 d42 = x[4] - x[2];
    const Vec3 xi = 0.125 * (d60 + d53 - d71 - d42);
    const Vec3 eta = 0.125 * (d60 - d53 + d71 - d42);
    const Vec3 zeta = 0.125 * (d60 + d53 + d71 + d42);
    // Cofactors of the Jacobian: its inverse times the determinant.
    const Vec3 by_xi = cross(eta, zeta);
    const Vec3 by_eta = cross(zeta, xi);
    const Vec3 by_zeta = cross(xi, eta);

    ShapeDerivatives shape;
    shape.b[0] = -1.0 * (by_xi + by_eta + by_zeta);
    shape.b[1] = by_xi - by_eta - by_zeta;
    shape.b[2] = by_xi + by_eta - by_zeta;
    shape.b[3] = by_eta - by_xi - by_zeta;
    shape.b[4] = -1.0 * shape.b[2];
    shape.b[5] = -1.0 * shape.b[3];
    shape.b[6] = -1.0 * shape.b[0];
    shape.b[7] = -1.0 * shape.b[1];
    shape.determinant = 8.0 * dot(eta, by_eta);
    return shape;
}

}  // namespace pinstudy::lulesh
