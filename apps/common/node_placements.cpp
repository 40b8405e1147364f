#include "apps/common/node_placements.hpp"

#include <algorithm>
#include <stdexcept>

namespace pinstudy {

std::vector<std::string> placement_words() {
    std::vector<std::string> words{kAllPlacements, kAsStarted};
    for (const Placement& placement : pair_placements({}, 1)) {
        words.push_back(placement.name);
    }
    return words;
}

NodePlacements node_placements(const std::string& kinds, const Cpus& allowed, int pairs,
                               const std::string& wanted) {
    NodePlacements node;
    std::vector<Placement> placements{{kAsStarted, {}, ""}};
    try {
        node.topology = read_topology("/", kinds, allowed);
        const std::vector<Placement> pinned = pair_placements(node.topology, pairs);
        placements.insert(placements.end(), pinned.begin(), pinned.end());
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(std::string("--kinds: ") + error.what());
    } catch (const std::runtime_error& error) {
        for (const Placement& placement : pair_placements({}, pairs)) {
            placements.push_back({placement.name, {}, error.what()});
        }
    }
    for (const Placement& placement : placements) {
        const bool possible = placement.why_not.empty();
        if (wanted != kAllPlacements && placement.name != wanted) {
            continue;
        }
        if (!possible && placement.name == wanted) {
            throw std::invalid_argument("--placement: " + wanted +
                                        " is not possible here: " + placement.why_not);
        }
        (possible ? node.possible : node.left_out).push_back(placement);
    }
    return node;
}

std::string kinds_text(const Topology& topology, const Cpus& cpus) {
    std::vector<std::string> kinds;
    for (const int cpu : cpus) {
        const Core* const core = topology.core_of(cpu);
        const std::string kind = core == nullptr ? "" : core->kind;
        if (!kind.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
            kinds.push_back(kind);
        }
    }
    std::string text;
    for (const std::string& kind : kinds) {
        text += (text.empty() ? "" : "+") + kind;
    }
    return text.empty() ? "-" : text;
}

}  // namespace pinstudy
