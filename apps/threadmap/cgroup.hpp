// What the control groups that the process is in leave to it.
#pragma once

#include <optional>
#include <string>

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

}  // namespace pinstudy::threadmap
