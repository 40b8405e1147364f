#include "apps/lulesh/motion.hpp"

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

// Which components may accelerate, for each value of Mesh::symmetry.
constexpr double kFree[8][kNodeStride] = {{1, 1, 1, 0}, {0, 1, 1, 0}, {1, 0, 1, 0}, {0, 0, 1, 0},
                                          {1, 1, 0, 0}, {0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}};

}  // namespace

void move_nodes(const Mesh& mesh, Fields& fields, const Seams& seams, double dt, Range nodes) {
    for (const Index* node = seams.nodes_from(nodes.begin); *node < nodes.end; ++node) {
        store_quad(node_place(fields.force.data(), *node), seams.sum_at(mesh, *node));
    }
    for (Index node = nodes.begin; node < nodes.end; ++node) {
        const auto i = static_cast<std::size_t>(node);
        double* const force = node_place(fields.force.data(), node);
        double* const velocity = node_place(fields.u.data(), node);
        double* const position = node_place(fields.x.data(), node);
        const Quad acceleration =
            load_quad(force) * load_quad(kFree[mesh.symmetry[i]]) / fields.mass[i];
        Quad u = load_quad(velocity) + acceleration * dt;
        u = ((u < kVelocityCut) & (u > -kVelocityCut)) ? Quad{} : u;
        store_quad(velocity, u);
        store_quad(position, load_quad(position) + u * dt);
        store_quad(force, Quad{});
    }
}

}  // namespace pinstudy::lulesh
