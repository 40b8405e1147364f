// The mesh as connectivity: who touches whom, by number. Nothing else in the program knows that
// the mesh is a cube.
#pragma once

#include <cstdint>

#include "apps/lulesh/array.hpp"
#include "apps/lulesh/geometry.hpp"
#include "apps/lulesh/team.hpp"

namespace pinstudy::lulesh {

// Directions of the element's own axes; neighbours are reached through the face on either side.
enum Face : int { kXiMinus, kXiPlus, kEtaMinus, kEtaPlus, kZetaMinus, kZetaPlus, kFaces };

// The order in which the elements around a node, taken in increasing order, have it as their
// corner.
inline constexpr int kCornersOfANode[kCorners] = {6, 7, 5, 4, 2, 3, 1, 0};

// A cube of edge^3 elements and (edge + 1)^3 nodes, both numbered with x fastest, then y, then z.
// Elements are worked on in blocks of kLanes. The last block is filled up with copies of the last
// element that nobody refers to; behind it lies one more block, the outside of the mesh.
struct Mesh {
    explicit Mesh(Index edge_elements);

    // Fills the connectivity of blocks of elements, and of nodes; both must be called for all.
    void connect_elements(Range blocks);
    void connect_nodes(Range range);

    Index edge;  // elements per edge of the cube
    Index elements;
    Index nodes;
    Index blocks;   // blocks of kLanes elements
    Index outside;  // the element that stands for "none": its fields stay 0

    Array<Index> corner_nodes;  // [block][corner][lane]: the nodes of an element
    // [face][element]: the element beyond the face; on a plane of symmetry the element itself,
    // where the mesh ends `outside`.
    Array<Index> neighbours;
    // [node][8]: the corners (8 * element + corner) that meet in a node in increasing order,
    // filled up with the first corner of `outside`. In this order the corners always come in the
    // order kCornersOfANode.
    Array<Index> node_corners;
    // [node]: bit a is set if the node lies on the plane of symmetry across axis a.
    Array<std::uint8_t> symmetry;

    // Whether all lanes of a block are elements of the mesh.
    bool is_full(std::size_t block) const {
        return (block + 1) * kLanes <= static_cast<std::size_t>(elements);
    }
    const Index* neighbours_at(Face face) const {
        return neighbours.data() +
               static_cast<std::size_t>(face) * static_cast<std::size_t>(elements);
    }
};

// The largest edge for which 8 * element + corner is an Index, the outside included.
inline constexpr Index kLargestEdge = 645;

// The nodes of an element in the order of its corners.
struct ElementNodes {
    Index at[kCorners];
};
ElementNodes nodes_of_element(Index element, Index edge);

}  // namespace pinstudy::lulesh
