// The mesh as connectivity: neighbours by number. No other part of the program depends on the mesh
// being a cube.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "apps/lulesh/geometry.hpp"

namespace pinstudy::lulesh {

// The faces of an element, along its own axes.
enum Face : int { kXiMinus, kXiPlus, kEtaMinus, kEtaPlus, kZetaMinus, kZetaPlus, kFaces };

// What lies beyond a face of an element.
enum class Beyond : std::uint32_t { kElement = 0, kSymmetryPlane = 1, kNothing = 2 };

// A cube of edge^3 elements and (edge + 1)^3 nodes, both numbered with x fastest, then y, then z.
struct Mesh {
    // `with_node_corners`: also make the lists that a team of several threads needs to add up
    // forces.
    Mesh(Index edge, bool with_node_corners);

    Beyond beyond(Index element, Face face) const {
        return static_cast<Beyond>(boundary[element] >> (2 * face) & 3U);
    }

    Index edge;  // elements on an edge of the cube
    Index element_count;
    Index node_count;

    std::vector<std::array<Index, kCorners>> element_nodes;  // of each element, corner by corner
    std::array<std::vector<Index>, kFaces>
        neighbours;                       // [face][element]; itself where there is none
    std::vector<std::uint32_t> boundary;  // of each element: a Beyond a face, two bits each
    std::array<std::vector<Index>, 3> symmetry_nodes;  // on the planes x = 0, y = 0, z = 0

    // The corners (kCorners * element + corner) that meet in node n, in increasing order, are
    // node_corners[first_corner[n]] to node_corners[first_corner[n + 1] - 1].
    std::vector<Index> first_corner;
    std::vector<Index> node_corners;
};

// The largest edge for which kCorners * element + corner is an Index.
inline constexpr Index kLargestEdge = 645;

}  // namespace pinstudy::lulesh
