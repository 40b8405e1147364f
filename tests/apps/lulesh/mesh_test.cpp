// The connectivity of the cube.
#include "apps/lulesh/mesh.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pinstudy::lulesh {
namespace {

Mesh connected(Index edge) {
    Mesh mesh(edge);
    mesh.connect_elements({0, mesh.blocks});
    mesh.connect_nodes({0, mesh.nodes});
    return mesh;
}

Index corner_node(const Mesh& mesh, Index element, int corner) {
    const auto block = static_cast<std::size_t>(element / kLanes);
    return mesh.corner_nodes[(block * kCorners + static_cast<std::size_t>(corner)) * kLanes +
                             static_cast<std::size_t>(element % kLanes)];
}

TEST(Mesh, NumbersNodesWithXFastest) {
    const ElementNodes first = nodes_of_element(0, 2);
    const Index expected[] = {0, 1, 4, 3, 9, 10, 13, 12};
    for (int corner = 0; corner < kCorners; ++corner) {
        EXPECT_EQ(first.at[corner], expected[corner]) << "corner " << corner;
    }
    EXPECT_EQ(nodes_of_element(7, 2).at[6], 26);
}

TEST(Mesh, FillsTheLastBlockWithCopiesOfTheLastElement) {
    const Mesh mesh = connected(3);
    for (Index padded = 27; padded < mesh.outside; ++padded) {
        for (int corner = 0; corner < kCorners; ++corner) {
            EXPECT_EQ(corner_node(mesh, padded, corner), corner_node(mesh, 26, corner));
        }
    }
    EXPECT_EQ(mesh.is_full(static_cast<std::size_t>(mesh.blocks) - 1), 27 % kLanes == 0);
}

TEST(Mesh, FindsElementsThroughTheirFaces) {
    const Mesh mesh = connected(3);
    const auto beyond = [&mesh](Index element, Face face) {
        return mesh.neighbours_at(face)[element];
    };
    EXPECT_EQ(beyond(13, kXiMinus), 12);
    EXPECT_EQ(beyond(13, kXiPlus), 14);
    EXPECT_EQ(beyond(13, kEtaMinus), 10);
    EXPECT_EQ(beyond(13, kEtaPlus), 16);
    EXPECT_EQ(beyond(13, kZetaMinus), 4);
    EXPECT_EQ(beyond(13, kZetaPlus), 22);
}

TEST(Mesh, MirrorsAtPlanesOfSymmetryAndEndsAtTheOthers) {
    const Mesh mesh = connected(3);
    for (const Face face : {kXiMinus, kEtaMinus, kZetaMinus}) {
        EXPECT_EQ(mesh.neighbours_at(face)[0], 0);
    }
    for (const Face face : {kXiPlus, kEtaPlus, kZetaPlus}) {
        EXPECT_EQ(mesh.neighbours_at(face)[26], mesh.outside);
    }
}

TEST(Mesh, ListsTheCornersAroundANodeInIncreasingOrder) {
    for (const Index edge : {1, 2, 5}) {
        const Mesh mesh = connected(edge);
        std::vector<std::vector<Index>> around(static_cast<std::size_t>(mesh.nodes));
        for (Index element = 0; element < mesh.elements; ++element) {
            for (int corner = 0; corner < kCorners; ++corner) {
                around[static_cast<std::size_t>(corner_node(mesh, element, corner))].push_back(
                    element * kCorners + corner);
            }
        }
        for (std::size_t node = 0; node < around.size(); ++node) {
            around[node].resize(kCorners, mesh.outside * kCorners);
            for (std::size_t i = 0; i < kCorners; ++i) {
                EXPECT_EQ(mesh.node_corners[node * kCorners + i], around[node][i])
                    << "edge " << edge << ", node " << node;
            }
        }
    }
}

TEST(Mesh, MeetsANodeThroughItsCornersInOneOrder) {
    const Mesh mesh = connected(4);
    for (std::size_t node = 0; node < static_cast<std::size_t>(mesh.nodes); ++node) {
        int place = 0;
        for (std::size_t i = 0; i < kCorners; ++i) {
            const Index corner = mesh.node_corners[node * kCorners + i];
            if (corner == mesh.outside * kCorners) {
                break;
            }
            while (place < kCorners && kCornersOfANode[place] != corner % kCorners) {
                ++place;
            }
            ASSERT_LT(place, kCorners) << "node " << node;
        }
    }
}

TEST(Mesh, KnowsTheNodesOnPlanesOfSymmetry) {
    const Mesh mesh = connected(2);
    EXPECT_EQ(mesh.symmetry[0], 7);
    EXPECT_EQ(mesh.symmetry[1], 6);   // on y = 0 and z = 0
    EXPECT_EQ(mesh.symmetry[3], 5);   // on x = 0 and z = 0
    EXPECT_EQ(mesh.symmetry[9], 3);   // on x = 0 and y = 0
    EXPECT_EQ(mesh.symmetry[13], 0);  // the middle
    EXPECT_EQ(mesh.symmetry[26], 0);
}

TEST(Mesh, KeepsCornerNumbersOfTheLargestMeshWithinAnIndex) {
    const std::int64_t edge = kLargestEdge;
    EXPECT_LE((edge * edge * edge + 2 * kLanes) * kCorners, 2147483647);
}

}  // namespace
}  // namespace pinstudy::lulesh
