// The placement and the limits of the process from outside: control groups and environment.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/threadmap/kernel_files.hpp"

namespace pinstudy::threadmap {

// `cpus` is the set of CPUs as the kernel lists it, empty if it does not say. `quota` is how many
// CPUs' worth of time the process may use, the least of its group's and of those above it; nothing
// if none is set or can be read. The files name where each was read.
struct Cgroup {
    std::string cpus;
    std::string cpus_file;
    std::optional<double> quota;
    std::string quota_file;
};

// Reads version 2 (cpu.max, cpuset.cpus.effective) and version 1 (cpu.cfs_quota_us,
// cpuset.effective_cpus) where they are mounted by convention, below /sys/fs/cgroup.
Cgroup read_cgroup(const KernelFiles& files);

// Name and value of OMP_*, KMP_*, GOMP_*, LIKWID_* and SLURM_CPU* in an environment such as
// `environ`, sorted. Everything but printable ASCII is replaced by '?' and what is longer than 300
// characters is cut: nothing in it can act on a terminal.
std::vector<std::pair<std::string, std::string>> placing_variables(const char* const* environment);

}  // namespace pinstudy::threadmap
