// Where the elements of several threads meet.
//
// A thread adds the forces of its elements to their nodes directly, in increasing order of the
// elements. At a node between its elements and another thread's it must not, as the other thread
// writes there too, and because the order of the sum would depend on who comes first. There the
// forces of the corners are kept one by one, and whoever moves the node sums them in the same
// order. So every node's sum is the same to the last bit for every number of threads.
#pragma once

#include <vector>

#include "apps/lulesh/geometry.hpp"
#include "apps/lulesh/mesh.hpp"
#include "apps/lulesh/team.hpp"

namespace pinstudy::lulesh {

class Seams {
  public:
    // For a team of `threads` whose members own the blocks that share() gives them.
    // Throws std::bad_alloc.
    Seams(const Mesh& mesh, int threads);

    int threads() const { return threads_; }

    // Whether the forces of a block may all be added to the nodes: no node is on a seam, and the
    // block is full.
    bool is_inside(std::size_t block) const { return slots_[block] == kInside; }
    bool is_on_seam(Index node) const { return on_seam_[static_cast<std::size_t>(node)]; }
    // The nodes on seams that a range of nodes contains.
    const Index* nodes_from(Index node) const;

    // Where the force of a corner (8 * element + corner) of a node on a seam is kept.
    double* corner_force(Index corner);
    const double* corner_force(Index corner) const;
    // The sum of the kept forces on a node on a seam.
    Quad sum_at(const Mesh& mesh, Index node) const;

  private:
    static constexpr Index kInside = -1;

    std::size_t offset(Index corner) const;

    int threads_;
    std::vector<std::uint8_t> on_seam_;  // per node
    std::vector<Index> nodes_;           // those on seams in increasing order, then mesh.nodes
    std::vector<Index> slots_;           // per block: its place in forces_, or kInside
    std::vector<double> forces_;         // [slot][lane][corner][component]
};

}  // namespace pinstudy::lulesh
