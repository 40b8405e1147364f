// Which nodes the elements of several threads share.
#include "apps/lulesh/seams.hpp"

#include <gtest/gtest.h>

#include <set>

#include "apps/lulesh/domain.hpp"
#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

int owner(const Mesh& mesh, Index element, int threads) {
    for (int rank = 0; rank < threads; ++rank) {
        const Range own = share(mesh.blocks, Team{rank, threads});
        if (element / kLanes >= own.begin && element / kLanes < own.end) {
            return rank;
        }
    }
    return -1;
}

TEST(Seams, AreWhereElementsOfSeveralThreadsMeet) {
    const Domain domain(6, {});
    const Mesh& mesh = domain.mesh;
    for (const int threads : {1, 2, 3, 8, 100}) {
        std::vector<std::set<int>> owners(static_cast<std::size_t>(mesh.nodes));
        for (Index element = 0; element < mesh.elements; ++element) {
            for (const Index node : nodes_of_element(element, mesh.edge).at) {
                owners[static_cast<std::size_t>(node)].insert(owner(mesh, element, threads));
            }
        }
        const Seams seams(mesh, threads);
        const Index* next = seams.nodes_from(0);
        for (Index node = 0; node < mesh.nodes; ++node) {
            const bool expected = owners[static_cast<std::size_t>(node)].size() > 1;
            EXPECT_EQ(seams.is_on_seam(node), expected) << node << " of " << threads;
            if (expected) {
                EXPECT_EQ(*next++, node);
            }
        }
        EXPECT_EQ(*next, mesh.nodes);
    }
}

TEST(Seams, LeaveFullBlocksAwayFromThemInside) {
    const Domain domain(6, {});
    const Seams alone(domain.mesh, 1);
    for (std::size_t block = 0; block < static_cast<std::size_t>(domain.mesh.blocks); ++block) {
        EXPECT_EQ(alone.is_inside(block), domain.mesh.is_full(block));
    }
}

TEST(Seams, SumWhatIsKeptAtANode) {
    const Domain domain(6, {});
    Seams seams(domain.mesh, 3);
    const Index node = *seams.nodes_from(0);
    double expected = 0.0;
    for (std::size_t i = 0; i < kCorners; ++i) {
        const Index corner =
            domain.mesh.node_corners[static_cast<std::size_t>(node) * kCorners + i];
        if (corner == domain.mesh.outside * kCorners) {
            break;
        }
        const double value = static_cast<double>(i) + 1.0;
        store_quad(seams.corner_force(corner), Quad{value, -value, 2.0 * value, 0.0});
        expected += value;
    }
    const Quad sum = seams.sum_at(domain.mesh, node);
    EXPECT_EQ(sum[0], expected);
    EXPECT_EQ(sum[1], -expected);
    EXPECT_EQ(sum[2], 2.0 * expected);
}

}  // namespace
}  // namespace pinstudy::lulesh
