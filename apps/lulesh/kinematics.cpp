#include "apps/lulesh/kinematics.hpp"

#include <limits>

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

// The square of twice the area of the face a, b, c, d: of the cross product of its diagonals.
inline Real face_measure(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
    const Vec3 normal = cross(c - a, d - b);
    return dot(normal, normal);
}

// The derivatives of a field by the element's own axes at its centre: differences between the
// centres of opposite faces, made of the differences along the four space diagonals.
struct CentreGradient {
    Vec3 xi, eta, zeta;
};

inline CentreGradient centre_gradient(const Corners& corners) {
    const Vec3* const f = corners.at;
    const Vec3 d60 = f[6] - f[0];
    const Vec3 d53 = f[5] - f[3];
    const Vec3 d71 = f[7] - f[1];
    const Vec3 d42 = f[4] - f[2];
    return {0.25 * ((d60 + d53) - (d71 + d42)), 0.25 * ((d60 - d53) + (d71 - d42)),
            0.25 * ((d60 + d53) + (d71 + d42))};
}

// The three pairwise cross products: each is normal to the plane of two axes, and their product
// with the third axis is the determinant.
struct Normals {
    Vec3 xi, eta, zeta;
};

inline Normals normals(const CentreGradient& g) {
    return {cross(g.eta, g.zeta), cross(g.zeta, g.xi), cross(g.xi, g.eta)};
}

// The trace of the velocity gradient at the centre, half a step back. Positions are linear in
// time during a step, so their gradient then is the present one less dt/2 times that of u.
inline Real volume_rate(const CentreGradient& x, const CentreGradient& u, double dt) {
    const Real back = splat(-0.5 * dt);
    const CentreGradient middle{multiply_add(back, u.xi, x.xi), multiply_add(back, u.eta, x.eta),
                                multiply_add(back, u.zeta, x.zeta)};
    const Normals n = normals(middle);
    return (dot(n.xi, u.xi) + dot(n.eta, u.eta) + dot(n.zeta, u.zeta)) / dot(middle.eta, n.eta);
}

// The size of an element along one of its axes and the velocity difference over it, given the
// normal to the other two axes.
inline void store_gradient(double* delv, double* delx, const Vec3& normal, const Vec3& u,
                           Real volume, Real inverse_volume) {
    store(delx, volume / sqrt(dot(normal, normal) + kTiny));
    store(delv, dot(normal, u) * inverse_volume);
}

}  // namespace

Real hexahedron_volume(const Corners& corners) {
    const Vec3* const x = corners.at;
    const auto triple = [](const Vec3& a, const Vec3& b, const Vec3& c) {
        return dot(a, cross(b, c));
    };
    return (triple((x[3] - x[1]) + (x[7] - x[2]), x[6] - x[3], x[2] - x[0]) +
            triple((x[4] - x[3]) + (x[5] - x[7]), x[6] - x[4], x[7] - x[0]) +
            triple((x[1] - x[4]) + (x[2] - x[5]), x[6] - x[1], x[5] - x[0])) *
           (1.0 / 12.0);
}

Real characteristic_length(const Corners& corners, Real volume) {
    const Vec3* const x = corners.at;
    Real largest = face_measure(x[0], x[1], x[2], x[3]);
    largest = max(largest, face_measure(x[4], x[5], x[6], x[7]));
    largest = max(largest, face_measure(x[0], x[1], x[5], x[4]));
    largest = max(largest, face_measure(x[1], x[2], x[6], x[5]));
    largest = max(largest, face_measure(x[2], x[3], x[7], x[6]));
    largest = max(largest, face_measure(x[3], x[0], x[4], x[7]));
    return 2.0 * volume / sqrt(largest);
}

double element_kinematics(const Mesh& mesh, Fields& fields, double dt, Range blocks) {
    Real lowest_volume = splat(std::numeric_limits<double>::infinity());
    for (auto block = static_cast<std::size_t>(blocks.begin);
         block < static_cast<std::size_t>(blocks.end); ++block) {
        const std::size_t first = block * kLanes;
        const Index* const nodes = &mesh.corner_nodes[first * kCorners];
        const Corners corners = gather_corners(fields.x.data(), nodes);

        const Real volume = hexahedron_volume(corners);
        const Real relative = volume / load(&fields.volo[first]);
        store(&fields.delv[first], relative - load(&fields.v[first]));
        store(&fields.v[first], relative);
        store(&fields.arealg[first], characteristic_length(corners, volume));
        lowest_volume = min(lowest_volume, relative);

        const CentreGradient x = centre_gradient(corners);
        const CentreGradient u = centre_gradient(gather_corners(fields.u.data(), nodes));
        store(&fields.vdov[first], volume_rate(x, u, dt));

        const Normals n = normals(x);
        const Real inverse = 1.0 / (volume + kTiny);
        Fields::Gradients& g = fields.gradients;
        store_gradient(&g.delv_xi[first], &g.delx_xi[first], n.xi, u.xi, volume, inverse);
        store_gradient(&g.delv_eta[first], &g.delx_eta[first], n.eta, u.eta, volume, inverse);
        store_gradient(&g.delv_zeta[first], &g.delx_zeta[first], n.zeta, u.zeta, volume, inverse);
    }
    return lowest(lowest_volume);
}

}  // namespace pinstudy::lulesh
