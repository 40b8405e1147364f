#include "apps/lulesh/seams.hpp"

#include <algorithm>

#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

std::vector<int> owners_of_blocks(const Mesh& mesh, int threads) {
    std::vector<int> owners(static_cast<std::size_t>(mesh.blocks));
    for (int rank = 0; rank < threads; ++rank) {
        const Range own = share(mesh.blocks, Team{rank, threads});
        std::fill(owners.begin() + own.begin, owners.begin() + own.end, rank);
    }
    return owners;
}

// Corners are sorted, so the first and the last tell whether all belong to one thread.
bool meets_several(const Mesh& mesh, const std::vector<int>& owners, std::size_t node) {
    const Index* const corners = &mesh.node_corners[node * kCorners];
    const Index outside = mesh.outside * kCorners;
    const Index* const end = std::find(corners, corners + kCorners, outside);
    const auto owner = [&owners](Index corner) {
        return owners[static_cast<std::size_t>(corner / kCorners / kLanes)];
    };
    return owner(corners[0]) != owner(end[-1]);
}

}  // namespace

Seams::Seams(const Mesh& mesh, int threads)
    : threads_(threads),
      on_seam_(static_cast<std::size_t>(mesh.nodes)),
      slots_(static_cast<std::size_t>(mesh.blocks), kInside) {
    const std::vector<int> owners = owners_of_blocks(mesh, threads);
    for (Index node = 0; node < mesh.nodes; ++node) {
        if (meets_several(mesh, owners, static_cast<std::size_t>(node))) {
            on_seam_[static_cast<std::size_t>(node)] = 1;
            nodes_.push_back(node);
        }
    }
    nodes_.push_back(mesh.nodes);

    Index slots = 0;
    for (std::size_t block = 0; block < slots_.size(); ++block) {
        const Index* const nodes = &mesh.corner_nodes[block * kCorners * kLanes];
        const bool touches = std::any_of(nodes, nodes + kCorners * kLanes,
                                         [this](Index node) { return is_on_seam(node); });
        if (touches || !mesh.is_full(block)) {
            slots_[block] = slots++;
        }
    }
    forces_.resize(static_cast<std::size_t>(slots) * kLanes * kCorners * kNodeStride);
}

const Index* Seams::nodes_from(Index node) const {
    return &*std::lower_bound(nodes_.begin(), nodes_.end() - 1, node);
}

std::size_t Seams::offset(Index corner) const {
    constexpr Index kPerBlock = kCorners * kLanes;
    const Index slot = slots_[static_cast<std::size_t>(corner / kPerBlock)];
    return (static_cast<std::size_t>(slot) * kPerBlock +
            static_cast<std::size_t>(corner % kPerBlock)) *
           kNodeStride;
}

double* Seams::corner_force(Index corner) {
    return &forces_[offset(corner)];
}

const double* Seams::corner_force(Index corner) const {
    return &forces_[offset(corner)];
}

Quad Seams::sum_at(const Mesh& mesh, Index node) const {
    Quad sum{};
    const Index* const corners = &mesh.node_corners[static_cast<std::size_t>(node) * kCorners];
    for (int i = 0; i < kCorners && corners[i] != mesh.outside * kCorners; ++i) {
        sum += load_quad(corner_force(corners[i]));
    }
    return sum;
}

}  // namespace pinstudy::lulesh
