#include "apps/lulesh/mesh.hpp"

#include <algorithm>

namespace pinstudy::lulesh {
namespace {

struct Position {
    Index x, y, z;
};

Position position(Index number, Index per_edge) {
    return {number % per_edge, number / per_edge % per_edge, number / per_edge / per_edge};
}

constexpr Position kCornerOffsets[kCorners] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                               {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

std::size_t size(Index count) {
    return static_cast<std::size_t>(count);
}

Index blocks_for(Index elements) {
    return (elements + kLanes - 1) / kLanes;
}

}  // namespace

ElementNodes nodes_of_element(Index element, Index edge) {
    const Position p = position(element, edge);
    const Index n = edge + 1;
    ElementNodes result{};
    for (int corner = 0; corner < kCorners; ++corner) {
        const Position& offset = kCornerOffsets[corner];
        result.at[corner] = ((p.z + offset.z) * n + p.y + offset.y) * n + p.x + offset.x;
    }
    return result;
}

Mesh::Mesh(Index edge_elements)
    : edge(edge_elements),
      elements(edge * edge * edge),
      nodes((edge + 1) * (edge + 1) * (edge + 1)),
      blocks(blocks_for(elements)),
      outside(blocks * kLanes),
      corner_nodes(size(blocks) * kCorners * kLanes),
      neighbours(size(elements) * kFaces),
      node_corners(size(nodes) * kCorners),
      symmetry(size(nodes)) {}

void Mesh::connect_elements(Range range) {
    const auto neighbour = [this](Index element, Face face) -> Index& {
        return neighbours[size(elements) * static_cast<std::size_t>(face) + size(element)];
    };
    for (Index padded = range.begin * kLanes; padded < range.end * kLanes; ++padded) {
        const Index element = std::min(padded, elements - 1);
        const ElementNodes its_nodes = nodes_of_element(element, edge);
        Index* const block = &corner_nodes[size(padded / kLanes) * kCorners * kLanes];
        for (int corner = 0; corner < kCorners; ++corner) {
            block[corner * kLanes + padded % kLanes] = its_nodes.at[corner];
        }
        if (padded != element) {
            continue;
        }
        const Position p = position(element, edge);
        const Index row = edge;
        const Index plane = edge * edge;
        neighbour(element, kXiMinus) = p.x == 0 ? element : element - 1;
        neighbour(element, kXiPlus) = p.x == edge - 1 ? outside : element + 1;
        neighbour(element, kEtaMinus) = p.y == 0 ? element : element - row;
        neighbour(element, kEtaPlus) = p.y == edge - 1 ? outside : element + row;
        neighbour(element, kZetaMinus) = p.z == 0 ? element : element - plane;
        neighbour(element, kZetaPlus) = p.z == edge - 1 ? outside : element + plane;
    }
}

void Mesh::connect_nodes(Range range) {
    for (Index node = range.begin; node < range.end; ++node) {
        const Position p = position(node, edge + 1);
        Index* const its_corners = &node_corners[size(node) * kCorners];
        int count = 0;
        for (const int corner : kCornersOfANode) {
            const Position& offset = kCornerOffsets[corner];
            const Position e{p.x - offset.x, p.y - offset.y, p.z - offset.z};
            const auto inside = [this](Index i) { return i >= 0 && i < edge; };
            if (inside(e.x) && inside(e.y) && inside(e.z)) {
                its_corners[count++] = ((e.z * edge + e.y) * edge + e.x) * kCorners + corner;
            }
        }
        std::fill(its_corners + count, its_corners + kCorners, outside * kCorners);
        symmetry[size(node)] =
            static_cast<std::uint8_t>((p.x == 0 ? 1 : 0) | (p.y == 0 ? 2 : 0) | (p.z == 0 ? 4 : 0));
    }
}

}  // namespace pinstudy::lulesh
