#include "apps/lulesh/mesh.hpp"

namespace pinstudy::lulesh {
namespace {

struct Position {
    Index x, y, z;
};

Position position(Index number, Index per_edge) {
    return {number % per_edge, number / per_edge % per_edge, number / per_edge / per_edge};
}

std::array<Index, kCorners> nodes_of(Index element, Index edge) {
    constexpr Position kOffsets[kCorners] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                             {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    const Position p = position(element, edge);
    const Index n = edge + 1;
    std::array<Index, kCorners> nodes{};
    for (int corner = 0; corner < kCorners; ++corner) {
        const Position& offset = kOffsets[corner];
        nodes[corner] = ((p.z + offset.z) * n + p.y + offset.y) * n + p.x + offset.x;
    }
    return nodes;
}

// Connects an element through the two faces across one axis; `step` leads to the next element.
void connect_along(Mesh& mesh, Index element, Face minus, Index place, Index step) {
    const auto connect = [&](Face face, bool ends, Index neighbour, Beyond outside) {
        mesh.neighbours[face][element] = ends ? element : neighbour;
        if (ends) {
            mesh.boundary[element] |= static_cast<std::uint32_t>(outside) << (2 * face);
        }
    };
    connect(minus, place == 0, element - step, Beyond::kSymmetryPlane);
    connect(static_cast<Face>(minus + 1), place == mesh.edge - 1, element + step, Beyond::kNothing);
}

void connect_elements(Mesh& mesh) {
    for (auto& neighbours : mesh.neighbours) {
        neighbours.resize(mesh.element_count);
    }
    for (Index element = 0; element < mesh.element_count; ++element) {
        mesh.element_nodes[element] = nodes_of(element, mesh.edge);
        const Position p = position(element, mesh.edge);
        connect_along(mesh, element, kXiMinus, p.x, 1);
        connect_along(mesh, element, kEtaMinus, p.y, mesh.edge);
        connect_along(mesh, element, kZetaMinus, p.z, mesh.edge * mesh.edge);
    }
}

void list_symmetry_nodes(Mesh& mesh) {
    for (Index node = 0; node < mesh.node_count; ++node) {
        const Position p = position(node, mesh.edge + 1);
        const Index places[] = {p.x, p.y, p.z};
        for (int axis = 0; axis < 3; ++axis) {
            if (places[axis] == 0) {
                mesh.symmetry_nodes[axis].push_back(node);
            }
        }
    }
}

void list_node_corners(Mesh& mesh) {
    mesh.first_corner.assign(mesh.node_count + 1, 0);
    for (const auto& nodes : mesh.element_nodes) {
        for (const Index node : nodes) {
            ++mesh.first_corner[node + 1];
        }
    }
    for (Index node = 0; node < mesh.node_count; ++node) {
        mesh.first_corner[node + 1] += mesh.first_corner[node];
    }
    std::vector<Index> next(mesh.first_corner.begin(), mesh.first_corner.end() - 1);
    mesh.node_corners.resize(mesh.first_corner.back());
    for (Index element = 0; element < mesh.element_count; ++element) {
        for (int corner = 0; corner < kCorners; ++corner) {
            const Index node = mesh.element_nodes[element][corner];
            mesh.node_corners[next[node]++] = kCorners * element + corner;
        }
    }
}

}  // namespace

Mesh::Mesh(Index edge_elements, bool with_node_corners)
    : edge(edge_elements),
      element_count(edge * edge * edge),
      node_count((edge + 1) * (edge + 1) * (edge + 1)),
      element_nodes(element_count),
      boundary(element_count) {
    connect_elements(*this);
    list_symmetry_nodes(*this);
    if (with_node_corners) {
        list_node_corners(*this);
    }
}

}  // namespace pinstudy::lulesh
