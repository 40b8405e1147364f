#include "apps/lulesh/motion.hpp"

#include <cmath>

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

inline Quad sum_of_forces(const double* forces, const Index* corners) {
    Quad sum = load_quad(forces + kNodeStride * static_cast<std::size_t>(corners[0]));
    for (int i = 1; i < kCorners; ++i) {
        sum += load_quad(forces + kNodeStride * static_cast<std::size_t>(corners[i]));
    }
    return sum;
}

// Which components may accelerate, for each value of Mesh::symmetry.
constexpr double kFree[8][kNodeStride] = {{1, 1, 1, 0}, {0, 1, 1, 0}, {1, 0, 1, 0}, {0, 0, 1, 0},
                                          {1, 1, 0, 0}, {0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}};

}  // namespace

void move_nodes(const Mesh& mesh, Fields& fields, double dt, Range nodes) {
    const double* const forces = fields.corner_forces.data();
    for (auto node = static_cast<std::size_t>(nodes.begin);
         node < static_cast<std::size_t>(nodes.end); ++node) {
        const Quad force = sum_of_forces(forces, &mesh.node_corners[node * kCorners]);
        const Quad acceleration = force * load_quad(kFree[mesh.symmetry[node]]) / fields.mass[node];
        double* const u_place = &fields.u[node * kNodeStride];
        double* const x_place = &fields.x[node * kNodeStride];
        Quad u = load_quad(u_place) + acceleration * dt;
        u = ((u < kVelocityCut) & (u > -kVelocityCut)) ? Quad{} : u;
        store_quad(u_place, u);
        store_quad(x_place, load_quad(x_place) + u * dt);
    }
}

Quad force_on_node(const Mesh& mesh, const Fields& fields, Index node) {
    return sum_of_forces(fields.corner_forces.data(),
                         &mesh.node_corners[static_cast<std::size_t>(node) * kCorners]);
}

}  // namespace pinstudy::lulesh
