#include "apps/lulesh/fields.hpp"

#include <algorithm>
#include <cmath>

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/kinematics.hpp"
#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

std::size_t element_count(const Mesh& mesh) {
    return static_cast<std::size_t>(mesh.outside) + kLanes;
}

std::size_t node_doubles(const Mesh& mesh) {
    return static_cast<std::size_t>(mesh.nodes) * kNodeStride;
}

}  // namespace

Fields::Fields(const Mesh& mesh)
    : x(node_doubles(mesh)),
      u(node_doubles(mesh)),
      force(node_doubles(mesh)),
      mass(static_cast<std::size_t>(mesh.nodes)),
      volo(element_count(mesh)),
      v(element_count(mesh)),
      delv(element_count(mesh)),
      vdov(element_count(mesh)),
      arealg(element_count(mesh)),
      e(element_count(mesh)),
      p(element_count(mesh)),
      q(element_count(mesh)),
      ss(element_count(mesh)),
      gradients{Array<double>(element_count(mesh)), Array<double>(element_count(mesh)),
                Array<double>(element_count(mesh)), Array<double>(element_count(mesh)),
                Array<double>(element_count(mesh)), Array<double>(element_count(mesh))} {}

void Fields::fill_nodes(const Mesh& mesh, Range nodes) {
    const Index n = mesh.edge + 1;
    const auto coordinate = [&mesh](Index i) { return kDomainEdge * i / mesh.edge; };
    for (Index node = nodes.begin; node < nodes.end; ++node) {
        double* const place = node_place(x.data(), node);
        place[0] = coordinate(node % n);
        place[1] = coordinate(node / n % n);
        place[2] = coordinate(node / n / n);
        place[3] = 0.0;
        std::fill_n(node_place(u.data(), node), kNodeStride, 0.0);
        std::fill_n(node_place(force.data(), node), kNodeStride, 0.0);
    }
}

void Fields::fill_elements(const Mesh& mesh, Range blocks) {
    const auto begin = static_cast<std::size_t>(blocks.begin) * kLanes;
    const auto end = static_cast<std::size_t>(blocks.end) * kLanes;
    for (std::size_t element = begin; element < end; element += kLanes) {
        const Index* const nodes = &mesh.corner_nodes[element * kCorners];
        store(&volo[element], hexahedron_volume(gather_corners(x.data(), nodes)));
    }
    const auto fill = [begin, end](Array<double>& field, double value) {
        std::fill(&field[begin], field.data() + end, value);
    };
    fill(v, 1.0);
    for (Array<double>* const field :
         {&delv, &vdov, &arealg, &e, &p, &q, &ss, &gradients.delv_xi, &gradients.delv_eta,
          &gradients.delv_zeta, &gradients.delx_xi, &gradients.delx_eta, &gradients.delx_zeta}) {
        fill(*field, 0.0);
    }
    if (begin == 0 && end > 0) {  // a thread without blocks has an empty range there, too
        e[0] = deposited_energy(mesh.edge);
    }
}

void Fields::fill_node_masses(const Mesh& mesh, Range nodes) {
    const Index outside_corner = mesh.outside * kCorners;
    for (auto node = static_cast<std::size_t>(nodes.begin);
         node < static_cast<std::size_t>(nodes.end); ++node) {
        double sum = 0.0;
        for (std::size_t i = 0; i < kCorners; ++i) {
            const Index corner = mesh.node_corners[node * kCorners + i];
            if (corner != outside_corner) {
                sum += kReferenceDensity * volo[static_cast<std::size_t>(corner / kCorners)] / 8.0;
            }
        }
        mass[node] = sum;
    }
}

void Fields::fill_outside(const Mesh& mesh) {
    const auto outside = static_cast<std::size_t>(mesh.outside);
    for (Array<double>* const field :
         {&gradients.delv_xi, &gradients.delv_eta, &gradients.delv_zeta}) {
        std::fill_n(&(*field)[outside], kLanes, 0.0);
    }
}

double memory_bytes(std::int64_t edge) {
    constexpr double kElement = sizeof(double) * (9 + 6) + sizeof(Index) * (kCorners + kFaces + 2);
    constexpr double kNode = sizeof(double) * (3 * kNodeStride + 1) + sizeof(Index) * kCorners + 1;
    const auto n = static_cast<double>(edge);
    return kElement * n * n * n + kNode * (n + 1) * (n + 1) * (n + 1);
}

double deposited_energy(Index edge) {
    const double scale = edge / kDepositedEnergyEdge;
    return kDepositedEnergy * scale * scale * scale;
}

}  // namespace pinstudy::lulesh
