// The problem as a whole: the mesh, its regions, and the fields on its nodes and elements; and the
// error for a solution that breaks down.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "apps/lulesh/mesh.hpp"
#include "apps/lulesh/regions.hpp"

namespace pinstudy::lulesh {

// Fields on the nodes.
struct Nodes {
    explicit Nodes(const Mesh& mesh);

    Vec3 position(Index node) const { return {x[node], y[node], z[node]}; }
    Vec3 velocity(Index node) const { return {xd[node], yd[node], zd[node]}; }
    void set_force(Index node, const Vec3& force) {
        fx[node] = force.x;
        fy[node] = force.y;
        fz[node] = force.z;
    }
    void add_force(Index node, const Vec3& force) {
        fx[node] += force.x;
        fy[node] += force.y;
        fz[node] += force.z;
    }

    std::vector<double> x, y, z;        // position
    std::vector<double> xd, yd, zd;     // velocity
    std::vector<double> xdd, ydd, zdd;  // acceleration
    std::vector<double> fx, fy, fz;     // force
    std::vector<double> mass;
};

// Fields on the elements.
struct Elements {
    explicit Elements(Index count);

    std::vector<double> e;       // internal energy per reference volume
    std::vector<double> p;       // pressure
    std::vector<double> q;       // artificial viscosity
    std::vector<double> ql, qq;  // its linear and its quadratic term
    std::vector<double> v;       // volume relative to volo
    std::vector<double> volo;    // reference volume: that at the start
    std::vector<double> vnew;    // relative volume at the end of the step
    std::vector<double> delv;    // vnew - v
    std::vector<double> vdov;    // rate of change of the volume, per volume
    std::vector<double> arealg;  // characteristic length
    std::vector<double> ss;      // sound speed
    std::vector<double> mass;
};

struct Clock {
    std::int64_t cycle = 0;
    double time = 0.0;
    double dt = 0.0;
    double dtcourant = 1.0e+20;  // largest step by the Courant condition
    double dthydro = 1.0e+20;    // largest step by the change of volume
};

// The clock before the first cycle.
Clock clock_at_start(double first_volume, double first_energy);

struct Domain {
    // At the start: a cube of gas at rest, all energy in the element at the origin. For teams of up
    // to `threads` threads. Throws std::bad_alloc.
    Domain(Index edge, const RegionOptions& options, int threads);

    // The positions and the velocities of an element's corners.
    Corners positions(Index element) const {
        Corners corners;
        for (int corner = 0; corner < kCorners; ++corner) {
            corners.set(corner, nodes.position(mesh.element_nodes[element][corner]));
        }
        return corners;
    }
    Corners velocities(Index element) const {
        Corners corners;
        for (int corner = 0; corner < kCorners; ++corner) {
            corners.set(corner, nodes.velocity(mesh.element_nodes[element][corner]));
        }
        return corners;
    }

    Mesh mesh;
    Regions regions;
    Nodes nodes;
    Elements elements;
    Clock clock;
};

// An estimate of all memory for a mesh, in bytes, valid for any edge (also one too large to mesh).
double memory_bytes(std::int64_t edge);

// The energy deposited in the element at the origin: the same total for every mesh.
double deposited_energy(Index edge);

// The solution breaks down; what() has the reason.
class Breakdown : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Records non-positive volumes that the threads of a loop find.
class VolumeCheck {
  public:
    void look_at(double volume) {
        if (!(volume > 0.0)) {
            all_positive_.store(false, std::memory_order_relaxed);
        }
    }

    // Throws Breakdown if one was not positive.
    void require_positive() const {
        if (!all_positive_) {
            throw Breakdown("an element's volume is not positive");
        }
    }

  private:
    std::atomic<bool> all_positive_ = true;
};

}  // namespace pinstudy::lulesh
