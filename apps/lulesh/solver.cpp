#include "apps/lulesh/solver.hpp"

#include <cmath>

#include "apps/common/parallel_loop.hpp"
#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/force.hpp"
#include "apps/lulesh/kinematics.hpp"
#include "apps/lulesh/material.hpp"
#include "apps/lulesh/viscosity.hpp"

namespace pinstudy::lulesh {
namespace {

void calculate_accelerations(Nodes& nodes, Index count) {
    parallel_loop(0, count, [&](Index node) {
        nodes.xdd[node] = nodes.fx[node] / nodes.mass[node];
        nodes.ydd[node] = nodes.fy[node] / nodes.mass[node];
        nodes.zdd[node] = nodes.fz[node] / nodes.mass[node];
    });
}

// Nothing moves across a plane of symmetry.
void apply_symmetry(const Mesh& mesh, Nodes& nodes) {
    std::vector<double>* const across[] = {&nodes.xdd, &nodes.ydd, &nodes.zdd};
#pragma omp parallel
    for (int axis = 0; axis < 3; ++axis) {
        const std::vector<Index>& plane = mesh.symmetry_nodes[axis];
        const auto count = static_cast<Index>(plane.size());
        share_loop(0, count, [&](Index i) { (*across[axis])[plane[i]] = 0.0; });
    }
}

double cut_off(double velocity) {
    return std::abs(velocity) < kVelocityCut ? 0.0 : velocity;
}

void calculate_velocities(Nodes& nodes, Index count, double dt) {
    parallel_loop(0, count, [&](Index node) {
        nodes.xd[node] = cut_off(nodes.xd[node] + nodes.xdd[node] * dt);
        nodes.yd[node] = cut_off(nodes.yd[node] + nodes.ydd[node] * dt);
        nodes.zd[node] = cut_off(nodes.zd[node] + nodes.zdd[node] * dt);
    });
}

void calculate_positions(Nodes& nodes, Index count, double dt) {
    parallel_loop(0, count, [&](Index node) {
        nodes.x[node] += nodes.xd[node] * dt;
        nodes.y[node] += nodes.yd[node] * dt;
        nodes.z[node] += nodes.zd[node] * dt;
    });
}

// Accelerations, none across a plane of symmetry; velocities, and positions after `dt`.
void move_nodes(Domain& domain, double dt) {
    const Index count = domain.mesh.node_count;
    calculate_accelerations(domain.nodes, count);
    apply_symmetry(domain.mesh, domain.nodes);
    calculate_velocities(domain.nodes, count, dt);
    calculate_positions(domain.nodes, count, dt);
}

}  // namespace

void run(Domain& domain, std::int64_t last_cycle, const Observer& observer) {
    while (domain.clock.time < kStopTime && domain.clock.cycle < last_cycle) {
        domain.clock = next_cycle(domain.clock);
        const double dt = domain.clock.dt;

        calculate_forces(domain);
        move_nodes(domain, dt);

        calculate_kinematics(domain, dt);
        calculate_viscosity(domain);
        apply_material_properties(domain);
        update_volumes(domain);

        calculate_time_constraints(domain);
        if (observer) {
            observer(domain);
        }
    }
}

}  // namespace pinstudy::lulesh
