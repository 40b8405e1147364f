// Where pairs of threads can be put on a node, from closest to farthest.
#pragma once

#include <string>
#include <vector>

#include "apps/common/topology.hpp"

namespace pinstudy {

// Threads 2i and 2i + 1 are pair i; cpus[t] is the CPU of thread t. Where the node cannot do it,
// `cpus` is empty and `why_not` says why.
struct Placement {
    std::string name;
    Cpus cpus;
    std::string why_not;
};

// The placements of so many pairs, in this order: same-cpu, siblings, same-cluster, cores,
// across-kinds, across-packages. Each is there, possible or not. The words and CPUs are those of
// the selections of the same names in studies (`cores` is there `pcores`).
std::vector<Placement> pair_placements(const Topology& topology, int pairs);

}  // namespace pinstudy
