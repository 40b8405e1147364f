#include "apps/lulesh/domain.hpp"

#include <cmath>

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/kinematics.hpp"

namespace pinstudy::lulesh {

Nodes::Nodes(const Mesh& mesh) {
    for (std::vector<double>* const field :
         {&x, &y, &z, &xd, &yd, &zd, &xdd, &ydd, &zdd, &fx, &fy, &fz, &mass}) {
        field->resize(mesh.node_count);
    }
    const auto coordinate = [&mesh](Index i) { return kDomainEdge * i / mesh.edge; };
    const Index n = mesh.edge + 1;
    for (Index node = 0; node < mesh.node_count; ++node) {
        x[node] = coordinate(node % n);
        y[node] = coordinate(node / n % n);
        z[node] = coordinate(node / n / n);
    }
}

Elements::Elements(Index count) {
    for (std::vector<double>* const field :
         {&e, &p, &q, &ql, &qq, &volo, &vnew, &delv, &vdov, &arealg, &ss, &mass}) {
        field->resize(count);
    }
    v.assign(count, 1.0);
}

Clock clock_at_start(double first_volume, double first_energy) {
    Clock clock;
    clock.dt = 0.5 * std::cbrt(first_volume) / std::sqrt(2.0 * first_energy);
    return clock;
}

Domain::Domain(Index edge, const RegionOptions& options, int threads)
    : mesh(edge, threads > 1),
      regions(mesh.element_count, options),
      nodes(mesh),
      elements(mesh.element_count) {
    for (Index element = 0; element < mesh.element_count; ++element) {
        const double volume = hexahedron_volume(positions(element));
        elements.volo[element] = volume;
        elements.mass[element] = kReferenceDensity * volume;
        for (const Index node : mesh.element_nodes[element]) {
            nodes.mass[node] += elements.mass[element] / kCorners;
        }
    }
    elements.e[0] = deposited_energy(edge);
    clock = clock_at_start(elements.volo[0], elements.e[0]);
}

double memory_bytes(std::int64_t edge) {
    // Fields and connectivity, and the temporaries of the forces, which are most at a time.
    constexpr double kElement = 13 * sizeof(double) + (2 * kCorners + kFaces + 3) * sizeof(Index) +
                                (4 + 9 * kCorners) * sizeof(double);
    constexpr double kNode = 13 * sizeof(double) + sizeof(Index);
    const auto n = static_cast<double>(edge);
    return kElement * n * n * n + kNode * (n + 1) * (n + 1) * (n + 1);
}

double deposited_energy(Index edge) {
    const double scale = edge / kDepositedEnergyEdge;
    return kDepositedEnergy * scale * scale * scale;
}

}  // namespace pinstudy::lulesh
