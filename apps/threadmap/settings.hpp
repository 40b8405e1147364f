// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/common/assigned_cpus.hpp"
#include "apps/common/options.hpp"

namespace pinstudy::threadmap {

struct Settings {
    std::int64_t threads = 0;  // 0: as many as the environment says
    double seconds = 1;
    bool team_only = false;
    bool json = false;
    std::string kinds;
    AssignedCpus assigned;

    void add_options(Options& options);
};

}  // namespace pinstudy::threadmap
