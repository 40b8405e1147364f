// What the reader of a batch script's output wants to know of each CPU: its core, kind and package.
#pragma once

#include <string>
#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// A physical core. `cpus` are its online CPUs, ascending. `kind` is P, E, LP-E, or empty where
// nothing tells kinds apart.
struct Core {
    Cpus cpus;
    std::string kind;
    int package = 0;
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

}  // namespace pinstudy::threadmap
