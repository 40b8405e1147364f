#include "apps/threadmap/placement_list.hpp"

#include "apps/common/columns.hpp"
#include "apps/threadmap/json.hpp"

namespace pinstudy::threadmap {
std::string placements_as_text(const Topology& topology, int pairs) {
    std::vector<std::vector<std::string>> rows;
    for (const Placement& placement : pair_placements(topology, pairs)) {
        rows.push_back({placement.name + ":", placement.why_not.empty()
                                                  ? list_cpus(placement.cpus)
                                                  : "impossible (" + placement.why_not + ")"});
    }
    return in_columns(rows, 2) + "Core kinds: " + topology.kinds_evidence + "\n";
}

std::string placements_as_json(const Topology& topology, int pairs) {
    std::vector<std::string> placements;
    for (const Placement& placement : pair_placements(topology, pairs)) {
        const bool possible = placement.why_not.empty();
        placements.push_back(json_object(
            {{"name", json_text(placement.name)},
             possible
                 ? std::pair<std::string, std::string>{"cpus", json_numbers(placement.cpus)}
                 : std::pair<std::string, std::string>{"why_not", json_text(placement.why_not)}}));
    }
    return json_object({{"pairs", std::to_string(pairs)},
                        {"kinds_evidence", json_text(topology.kinds_evidence)},
                        {"placements", json_list(placements)}}) +
           "\n";
}

}  // namespace pinstudy::threadmap
