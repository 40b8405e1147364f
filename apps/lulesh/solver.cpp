#include "apps/lulesh/solver.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/common/openmp.hpp"
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

double limited_step(const Clock& clock) {
    double step = kNoConstraint;
    if (clock.dtcourant < step) {
        step = clock.dtcourant / 2.0;
    }
    // The limit itself is compared, and two thirds of it taken: with dthydro between step and
    // 1.5 step the step stays longer than that. It is part of the problem's reference results.
    if (clock.dthydro < step) {
        step = clock.dthydro * 2.0 / 3.0;
    }
    const double ratio = step / clock.dt;
    if (ratio >= 1.0) {
        if (ratio < kKeepStepBelow) {
            step = clock.dt;
        } else if (ratio > kLargestGrowth) {
            step = clock.dt * kLargestGrowth;
        }
    }
    return std::min(step, kLargestStep);
}

// The lowest of constraint(element) over the elements of a region that change their volume: each
// thread finds its own, and one takes the lowest of these.
template <class Constraint>
double lowest(const std::vector<Index>& region, const std::vector<double>& vdov,
              const Constraint& constraint) {
    std::vector<double> lowest_of_thread(max_threads(), kNoConstraint);
    const auto count = static_cast<Index>(region.size());
#pragma omp parallel
    {
        double own = kNoConstraint;
        share_loop(0, count, [&](Index i) {
            if (vdov[region[i]] != 0.0) {
                own = std::min(own, constraint(region[i]));
            }
        });
#pragma omp barrier
        lowest_of_thread[thread_number()] = own;
    }
    return *std::min_element(lowest_of_thread.begin(), lowest_of_thread.end());
}

// How long sound takes through an element; the artificial viscosity of a compression counts as
// stiffness.
double courant_constraint(const Elements& elements, const std::vector<Index>& region) {
    constexpr double kViscous = 64.0 * kCourantViscosity * kCourantViscosity;
    return lowest(region, elements.vdov, [&](Index i) {
        double square = elements.ss[i] * elements.ss[i];
        if (elements.vdov[i] < 0.0) {
            square += kViscous * elements.arealg[i] * elements.arealg[i] * elements.vdov[i] *
                      elements.vdov[i];
        }
        return elements.arealg[i] / std::sqrt(square);
    });
}

// How long an element takes to change its volume by the share allowed.
double hydro_constraint(const Elements& elements, const std::vector<Index>& region) {
    return lowest(region, elements.vdov,
                  [&](Index i) { return kVolumeChange / (std::abs(elements.vdov[i]) + 1.0e-20); });
}

}  // namespace

void calculate_time_constraints(Domain& domain) {
    domain.clock.dtcourant = kNoConstraint;
    domain.clock.dthydro = kNoConstraint;
    for (const std::vector<Index>& region : domain.regions.elements) {
        domain.clock.dtcourant =
            std::min(domain.clock.dtcourant, courant_constraint(domain.elements, region));
        domain.clock.dthydro =
            std::min(domain.clock.dthydro, hydro_constraint(domain.elements, region));
    }
}

Clock next_cycle(Clock clock) {
    if (clock.cycle > 0) {
        clock.dt = limited_step(clock);
    }
    double remaining = kStopTime - clock.time;
    if (remaining > clock.dt && remaining < 4.0 * clock.dt / 3.0) {
        remaining = 2.0 * clock.dt / 3.0;
    }
    clock.dt = std::min(clock.dt, remaining);
    clock.time += clock.dt;
    ++clock.cycle;
    return clock;
}

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
