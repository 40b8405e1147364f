// The placements of pairs of threads, printed.
#pragma once

#include <string>

#include "apps/common/placements.hpp"

namespace pinstudy::threadmap {

std::string placements_as_text(const Topology& topology, int pairs);
std::string placements_as_json(const Topology& topology, int pairs);

}  // namespace pinstudy::threadmap
