#include "apps/lulesh/force.hpp"

#include <algorithm>

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

// The area vector of the face a, b, c, d, times 2: the cross product of its diagonals.
inline Vec3 twice_area(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
    return cross(d - b, c - a);
}

// A quarter of each face's area belongs to each of its corners, and a corner belongs to three
// faces: the bottom or the top, and the two sides that share the vertical edge.
inline Corners stress_forces(const Corners& corners, Real stress) {
    const Vec3* const x = corners.at;
    const Vec3 bottom = twice_area(x[0], x[1], x[2], x[3]);
    const Vec3 top = twice_area(x[4], x[7], x[6], x[5]);
    const Vec3 front = twice_area(x[0], x[4], x[5], x[1]);
    const Vec3 right = twice_area(x[1], x[5], x[6], x[2]);
    const Vec3 back = twice_area(x[2], x[6], x[7], x[3]);
    const Vec3 left = twice_area(x[3], x[7], x[4], x[0]);
    const Vec3 front_left = front + left;
    const Vec3 front_right = front + right;
    const Vec3 back_right = right + back;
    const Vec3 back_left = back + left;
    const Real scale = stress * 0.125;
    return {{scale * (bottom + front_left), scale * (bottom + front_right),
             scale * (bottom + back_right), scale * (bottom + back_left),
             scale * (top + front_left), scale * (top + front_right), scale * (top + back_right),
             scale * (top + back_left)}};
}

// Twelve times the derivative of the volume by the position of a corner, from the corners around
// it: d, b and the far corner of one face, ...
inline Vec3 volume_derivative(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d,
                              const Vec3& e, const Vec3& f) {
    const Vec3 bc = b + c;
    const Vec3 ab = a + b;
    const Vec3 ae = a + e;
    const Vec3 de = d + e;
    const Vec3 cf = c + f;
    const Vec3 df = d + f;
    return cross(bc, ab) + cross(ae, de) - cross(cf, df);
}

// The sign with which a corner takes part in each of the four hourglass modes, the base vectors of
// Flanagan and Belytschko.
constexpr double kModes[4][kCorners] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                        {1, -1, -1, 1, -1, 1, 1, -1},
                                        {1, -1, 1, -1, 1, -1, 1, -1},
                                        {-1, 1, -1, 1, 1, -1, 1, -1}};

// sum_i kModes[mode][i] x_i for all modes. Opposite corners have equal signs in three modes and
// different signs in the fourth.
struct Modes {
    Vec3 at[4];
};

inline Modes mode_sums(const Vec3* x) {
    const Vec3 s0 = x[0] + x[6];
    const Vec3 s1 = x[1] + x[7];
    const Vec3 s2 = x[2] + x[4];
    const Vec3 s3 = x[3] + x[5];
    const Vec3 fourth = (x[6] - x[0]) + (x[1] - x[7]) + (x[4] - x[2]) + (x[3] - x[5]);
    return {{(s0 + s1) - (s2 + s3), (s0 - s1) - (s2 - s3), (s0 - s1) + (s2 - s3), fourth}};
}

// Adds the forces that resist one hourglass mode. gamma is the mode less its share of uniform
// strain; the mode's velocity is what the corners' velocities have in common with gamma.
template <int kMode>
inline void add_hourglass_forces(Corners& force, const Corners& derivatives, const Corners& u,
                                 const Vec3& mode, Real factor) {
    Real gamma[kCorners];
    for (int i = 0; i < kCorners; ++i) {
        gamma[i] = kModes[kMode][i] - dot(derivatives.at[i], mode);
    }
    Vec3 velocity = gamma[0] * u.at[0];
    for (int i = 1; i < kCorners; ++i) {
        velocity = multiply_add(gamma[i], u.at[i], velocity);
    }
    velocity = factor * velocity;
    for (int i = 0; i < kCorners; ++i) {
        force.at[i] = multiply_add(gamma[i], velocity, force.at[i]);
    }
}

// Hands out the forces of a block that is not inside, corner by corner as those of others.
[[gnu::noinline]] void deal_forces(const Mesh& mesh, Fields& fields, Seams& seams,
                                   std::size_t block, const Corners& forces) {
    const std::size_t first = block * kLanes;
    const auto lanes =
        std::min(static_cast<std::size_t>(mesh.elements) - first, static_cast<std::size_t>(kLanes));
    const Index* const nodes = &mesh.corner_nodes[first * kCorners];
    for (const int corner : kCornersOfANode) {
        const NodeLanes force = node_lanes(forces.at[corner]);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const Index node = nodes[static_cast<std::size_t>(corner * kLanes) + lane];
            if (seams.is_on_seam(node)) {
                const auto element = static_cast<Index>(first + lane);
                store_quad(seams.corner_force(element * kCorners + corner), force.at[lane]);
            } else {
                double* const place = node_place(fields.force.data(), node);
                store_quad(place, load_quad(place) + force.at[lane]);
            }
        }
    }
}

}  // namespace

Corners volume_derivatives(const Corners& corners) {
    const Vec3* const x = corners.at;
    return {{volume_derivative(x[1], x[2], x[3], x[4], x[5], x[7]),
             volume_derivative(x[2], x[3], x[0], x[5], x[6], x[4]),
             volume_derivative(x[3], x[0], x[1], x[6], x[7], x[5]),
             volume_derivative(x[0], x[1], x[2], x[7], x[4], x[6]),
             volume_derivative(x[7], x[6], x[5], x[0], x[3], x[1]),
             volume_derivative(x[4], x[7], x[6], x[1], x[0], x[2]),
             volume_derivative(x[5], x[4], x[7], x[2], x[1], x[3]),
             volume_derivative(x[6], x[5], x[4], x[3], x[2], x[0])}};
}

Corners corner_forces(const Corners& x, const Corners& u, const ElementState& state) {
    Corners force = stress_forces(x, state.stress);
    const Corners derivatives = volume_derivatives(x);
    Modes modes = mode_sums(x.at);
    const Real scale = 1.0 / (12.0 * state.volume);
    for (Vec3& mode : modes.at) {
        mode = scale * mode;
    }
    add_hourglass_forces<0>(force, derivatives, u, modes.at[0], state.hourglass);
    add_hourglass_forces<1>(force, derivatives, u, modes.at[1], state.hourglass);
    add_hourglass_forces<2>(force, derivatives, u, modes.at[2], state.hourglass);
    add_hourglass_forces<3>(force, derivatives, u, modes.at[3], state.hourglass);
    return force;
}

void element_forces(const Mesh& mesh, Fields& fields, Seams& seams, Range blocks) {
    for (auto block = static_cast<std::size_t>(blocks.begin);
         block < static_cast<std::size_t>(blocks.end); ++block) {
        const std::size_t first = block * kLanes;
        const Index* const nodes = &mesh.corner_nodes[first * kCorners];
        const Corners x = gather_corners(fields.x.data(), nodes);
        const Corners u = gather_corners(fields.u.data(), nodes);
        const Real volo = load(&fields.volo[first]);
        const Real volume = volo * load(&fields.v[first]);
        const Real mass = kReferenceDensity * volo;
        const ElementState state{
            .stress = load(&fields.p[first]) + load(&fields.q[first]),
            .volume = volume,
            .hourglass = -kHourglass * load(&fields.ss[first]) * mass * inverse_cbrt(volume)};
        const Corners force = corner_forces(x, u, state);
        if (!seams.is_inside(block)) {
            deal_forces(mesh, fields, seams, block, force);
            continue;
        }
        // In this order the elements around a node contribute in increasing order.
        for (const int corner : kCornersOfANode) {
            add_to_nodes(fields.force.data(), nodes + corner * kLanes, force.at[corner]);
        }
    }
}

}  // namespace pinstudy::lulesh
