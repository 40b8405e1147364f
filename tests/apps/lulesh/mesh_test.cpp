// The connectivity of the cube.
#include "apps/lulesh/mesh.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pinstudy::lulesh {
namespace {

TEST(Mesh, NumbersNodesWithXFastest) {
    const Mesh mesh(2, false);
    EXPECT_EQ(mesh.element_nodes[0], (std::array<Index, kCorners>{0, 1, 4, 3, 9, 10, 13, 12}));
    EXPECT_EQ(mesh.element_nodes[7][6], 26);
}

TEST(Mesh, FindsElementsThroughTheirFaces) {
    const Mesh mesh(3, false);
    const Index expected[kFaces] = {12, 14, 10, 16, 4, 22};
    for (int face = 0; face < kFaces; ++face) {
        EXPECT_EQ(mesh.neighbours[face][13], expected[face]);
        EXPECT_EQ(mesh.beyond(13, static_cast<Face>(face)), Beyond::kElement);
    }
}

TEST(Mesh, MirrorsAtPlanesOfSymmetryAndEndsAtTheOthers) {
    const Mesh mesh(3, false);
    for (const Face face : {kXiMinus, kEtaMinus, kZetaMinus}) {
        EXPECT_EQ(mesh.beyond(0, face), Beyond::kSymmetryPlane);
        EXPECT_EQ(mesh.beyond(26, face), Beyond::kElement);
    }
    for (const Face face : {kXiPlus, kEtaPlus, kZetaPlus}) {
        EXPECT_EQ(mesh.beyond(26, face), Beyond::kNothing);
        EXPECT_EQ(mesh.beyond(0, face), Beyond::kElement);
    }
}

TEST(Mesh, OfOneElementIsAllBoundary) {
    const Mesh mesh(1, false);
    EXPECT_EQ(mesh.beyond(0, kEtaMinus), Beyond::kSymmetryPlane);
    EXPECT_EQ(mesh.beyond(0, kEtaPlus), Beyond::kNothing);
}

TEST(Mesh, ListsTheCornersAroundANodeInIncreasingOrder) {
    for (const Index edge : {1, 2, 5}) {
        const Mesh mesh(edge, true);
        std::vector<std::vector<Index>> around(mesh.node_count);
        for (Index element = 0; element < mesh.element_count; ++element) {
            for (int corner = 0; corner < kCorners; ++corner) {
                around[mesh.element_nodes[element][corner]].push_back(element * kCorners + corner);
            }
        }
        ASSERT_EQ(mesh.node_corners.size(), kCorners * mesh.element_nodes.size());
        for (Index node = 0; node < mesh.node_count; ++node) {
            const auto* const corners = mesh.node_corners.data();
            EXPECT_EQ(std::vector<Index>(corners + mesh.first_corner[node],
                                         corners + mesh.first_corner[node + 1]),
                      around[node])
                << "edge " << edge << ", node " << node;
        }
    }
}

TEST(Mesh, HasNoListsOfCornersForOneThread) {
    EXPECT_TRUE(Mesh(3, false).node_corners.empty());
}

TEST(Mesh, KnowsTheNodesOnPlanesOfSymmetry) {
    const Mesh mesh(1, false);
    EXPECT_EQ(mesh.symmetry_nodes[0], (std::vector<Index>{0, 2, 4, 6}));
    EXPECT_EQ(mesh.symmetry_nodes[1], (std::vector<Index>{0, 1, 4, 5}));
    EXPECT_EQ(mesh.symmetry_nodes[2], (std::vector<Index>{0, 1, 2, 3}));
}

TEST(Mesh, KeepsCornerNumbersOfTheLargestMeshWithinAnIndex) {
    const std::int64_t edge = kLargestEdge;
    EXPECT_LE(edge * edge * edge * kCorners, 2147483647);
    EXPECT_GT((edge + 1) * (edge + 1) * (edge + 1) * kCorners, 2147483647);
}

}  // namespace
}  // namespace pinstudy::lulesh
