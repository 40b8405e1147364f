// What of the node's topology the programs name by themselves: kinds, cores, clusters, packages.
#pragma once

#include <string>
#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy {

// A physical core. `cpus` are its online CPUs, ascending. `kind` is P, E, LP-E, or empty where
// nothing tells kinds apart. `cluster` counts the groups of cores that share a cache which not all
// cores share (L2 if cores share one, else L3); -1 for a core in none.
struct Core {
    Cpus cpus;
    std::string kind;
    int package = 0;
    int cluster = -1;
};

// Cores are ordered by their first CPU. `allowed` are the CPUs that the process may use.
// `kinds_evidence` says in words by what kinds were told apart, or why they were not.
struct Topology {
    std::vector<Core> cores;
    Cpus allowed;
    std::string kinds_evidence;

    // The core of a CPU; nullptr for a CPU that is in none.
    const Core* core_of(int cpu) const;
};

// Reads the kernel's files below `root` ("/" for this machine). `kinds`, such as
// "P=0-7,E=8-15", declares the kinds instead; empty to look for them. Of `allowed` those that are
// online are kept; an empty list stands for all that are. Throws std::runtime_error when the files
// do not say which CPUs there are, std::invalid_argument for bad `kinds`.
Topology read_topology(const std::string& root, const std::string& kinds, const Cpus& allowed);

}  // namespace pinstudy
