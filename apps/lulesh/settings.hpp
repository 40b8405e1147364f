// What a user can ask for on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "apps/lulesh/mesh.hpp"
#include "apps/lulesh/regions.hpp"

namespace pinstudy::lulesh {

struct Settings {
    std::int64_t edge = 30;             // -s
    std::int64_t last_cycle = 9999999;  // -i
    RegionOptions regions;              // -r, -b, -c
    bool progress = false;              // -p
    bool quiet = false;                 // -q
    bool trace = false;                 // --verify-trace
};

// The settings, or the exit status with which the program must end at once, everything being said
// already.
std::variant<Settings, int> settings_from(int argc, char** argv);

}  // namespace pinstudy::lulesh
