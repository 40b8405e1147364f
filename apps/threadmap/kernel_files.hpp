// The kernel's small files below a root: a value, or nothing if there is none.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// The files of this machine (""), or of a recorded one. Paths are those of the machine, such as
// "/sys/devices/system/cpu/online". Nothing here throws for a bad file or content.
class KernelFiles {
  public:
    explicit KernelFiles(std::string root) : root_(std::move(root)) {}

    // The file's content without the white space around it; nothing if it cannot be read.
    std::optional<std::string> text(const std::string& path) const;

    // A decimal whole number.
    std::optional<long long> number(const std::string& path) const;

    // The CPUs that the file lists, ascending and each once; an empty file is an empty list.
    std::optional<Cpus> cpus(const std::string& path) const;

  private:
    std::string root_;
};

}  // namespace pinstudy::threadmap
