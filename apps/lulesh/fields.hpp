// What the mesh carries: the state of the gas, and the quantities one phase of a cycle leaves for
// the next. All are allocated once; what one phase alone needs stays in registers.
#pragma once

#include "apps/lulesh/array.hpp"
#include "apps/lulesh/mesh.hpp"

namespace pinstudy::lulesh {

struct Fields {
    explicit Fields(const Mesh& mesh);

    // The initial state: a cube at rest, all energy in the element at the origin. Blocks of
    // elements and nodes may be filled by different threads, the nodes first, with a barrier
    // between.
    void fill_nodes(const Mesh& mesh, Range nodes);
    void fill_elements(const Mesh& mesh, Range blocks);
    // The masses of the nodes: after all elements are filled.
    void fill_node_masses(const Mesh& mesh, Range nodes);
    // What lies outside the mesh: once, by one thread.
    void fill_outside(const Mesh& mesh);

    // Per node, kNodeStride doubles apart.
    Array<double> x;      // position
    Array<double> u;      // velocity
    Array<double> force;  // sum over the elements around; 0 between the cycles
    Array<double> mass;   // one double a node; an eighth of each element around it

    // Per element.
    Array<double> volo;    // volume at the start ("reference volume"); also its mass
    Array<double> v;       // volume relative to volo
    Array<double> delv;    // change of v in this step
    Array<double> vdov;    // rate of volume change per volume (trace of the velocity gradient)
    Array<double> arealg;  // characteristic length
    Array<double> e;       // internal energy per reference volume
    Array<double> p;       // pressure
    Array<double> q;       // artificial viscosity
    Array<double> ss;      // sound speed

    // Per element and each of its three axes: the velocity difference across the element, relative
    // to its size, and that size.
    struct Gradients {
        Array<double> delv_xi, delv_eta, delv_zeta;
        Array<double> delx_xi, delx_eta, delx_zeta;
    };
    Gradients gradients;
};

// An estimate of all memory for a mesh, in bytes, valid for any edge (also one too large to mesh).
double memory_bytes(std::int64_t edge);

// The energy deposited in the element at the origin: the same total for every mesh.
double deposited_energy(Index edge);

}  // namespace pinstudy::lulesh
