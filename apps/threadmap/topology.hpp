// What the reader of a batch script's output wants to know of each CPU: its core, kind and package.
#pragma once

#include <string>
#include <vector>

#include "apps/common/affinity.hpp"
#include "apps/threadmap/kernel_files.hpp"

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

// Place of a kind among kinds, best first: P, E, LP-E, any other.
int kind_rank(const std::string& kind);

// Reads the kernel's files. `kinds`, such as "P=0-7,E=8-15", declares the kinds instead; empty to
// look for them: Intel's hybrid CPUs have a core PMU for each core type, with the list of its CPUs,
// and LP-E cores have no L3 cache. Nothing else is evidence here: not the CPU's number, not its
// frequency. Of `allowed` those that are online are kept. Throws std::runtime_error when the files
// do not say which CPUs there are, std::invalid_argument, whose text says what is wrong, for
// `kinds` of another form, another kind, and a CPU that is in two kinds or not online.
Topology read_topology(const KernelFiles& files, const std::string& kinds, const Cpus& allowed);

}  // namespace pinstudy::threadmap
