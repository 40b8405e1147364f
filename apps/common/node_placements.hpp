// The placements of pairs of threads on this machine: possible ones, and the others with the
// reason.
#pragma once

#include <string>
#include <vector>

#include "apps/common/placements.hpp"

namespace pinstudy {

// The placement without CPUs that stands before the others: the threads as they were started.
inline constexpr const char* kAsStarted = "as-started";

// The word for all placements, and the names of all.
inline constexpr const char* kAllPlacements = "all";
std::vector<std::string> placement_words();

struct NodePlacements {
    Topology topology;
    std::vector<Placement> possible;  // as-started first
    std::vector<Placement> left_out;
};

// Of these CPUs, so many pairs: all placements or the `wanted` one. `kinds` is read_topology()'s.
// Where the topology cannot be read, as-started alone is possible. Throws std::invalid_argument for
// bad `kinds`, and where the wanted placement is not possible.
NodePlacements node_placements(const std::string& kinds, const Cpus& allowed, int pairs,
                               const std::string& wanted);

// The kinds of these CPUs, such as "P+E" in the order of the CPUs, or "-" where nothing tells kinds
// apart.
std::string kinds_text(const Topology& topology, const Cpus& cpus);

// A line for each experiment that failed, and for each placement that the node cannot do. An
// experiment has a name() and a failure(), which is empty where there is none.
template <typename Experiments>
std::string left_out_lines(const Experiments& experiments, const NodePlacements& node) {
    std::string text;
    for (const auto& experiment : experiments) {
        if (!experiment.failure().empty()) {
            text += "Left out: " + experiment.name() + ": " + experiment.failure() + '\n';
        }
    }
    for (const Placement& placement : node.left_out) {
        text += "Left out: " + placement.name + ": " + placement.why_not + '\n';
    }
    return text;
}

}  // namespace pinstudy
