#include "apps/common/placements.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "apps/common/core_kinds.hpp"

namespace pinstudy {
namespace {

using Cores = std::vector<Core>;

// All cores, the best kind first, within a kind by first CPU; `cpus` are those of them that the
// process may use, maybe none.
Cores ranked_cores(const Topology& topology) {
    Cores ranked = topology.cores;
    std::sort(ranked.begin(), ranked.end(), [](const Core& a, const Core& b) {
        return std::pair(kind_rank(a.kind), a.cpus) < std::pair(kind_rank(b.kind), b.cpus);
    });
    for (Core& core : ranked) {
        std::erase_if(core.cpus, [&topology](int cpu) {
            return !std::binary_search(topology.allowed.begin(), topology.allowed.end(), cpu);
        });
    }
    return ranked;
}

template <typename Wanted>
Cores only(const Cores& cores, const Wanted& wanted) {
    Cores chosen;
    std::copy_if(cores.begin(), cores.end(), std::back_inserter(chosen), wanted);
    return chosen;
}

std::string pairs_text(int pairs) {
    return std::to_string(pairs) + (pairs == 1 ? " pair needs " : " pairs need ");
}

std::string needs(int pairs, int needed, const std::string& what, std::size_t there) {
    return pairs_text(pairs) + std::to_string(needed) + " " + what + "; " + std::to_string(there) +
           " can be used";
}

// The kinds of the node that have a name, best first.
std::vector<std::string> kinds_of(const std::vector<Core>& cores) {
    std::map<int, std::string> kinds;
    for (const Core& core : cores) {
        if (!core.kind.empty()) {
            kinds[kind_rank(core.kind)] = core.kind;
        }
    }
    std::vector<std::string> names;
    for (const auto& [rank, kind] : kinds) {
        names.push_back(kind);
    }
    return names;
}

Placement same_cpu(const Cores& cores, int pairs) {
    Placement placement{"same-cpu", {}, ""};
    if (cores.size() < static_cast<std::size_t>(pairs)) {
        placement.why_not = needs(pairs, pairs, pairs == 1 ? "core" : "cores", cores.size());
        return placement;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
        placement.cpus.insert(placement.cpus.end(), 2, cores[i].cpus.front());
    }
    return placement;
}

Placement siblings(const Cores& cores, int pairs) {
    Placement placement{"siblings", {}, ""};
    const Cores with_two = only(cores, [](const Core& core) { return core.cpus.size() > 1; });
    if (with_two.empty()) {
        placement.why_not = "no core has two usable CPUs (SMT is off or absent)";
    } else if (with_two.size() < static_cast<std::size_t>(pairs)) {
        placement.why_not = needs(pairs, pairs, "cores with two usable CPUs", with_two.size());
    } else {
        for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
            placement.cpus.insert(placement.cpus.end(), with_two[i].cpus.begin(),
                                  with_two[i].cpus.begin() + 2);
        }
    }
    return placement;
}

// Neighbouring cores of each cluster, two and two; `ranked` are all cores, so that a cluster's
// place does not depend on which of them may be used.
Cpus neighbours_in_clusters(const Cores& ranked) {
    std::vector<int> clusters;
    std::map<int, Cpus> members;
    for (const Core& core : ranked) {
        if (core.cluster < 0) {
            continue;
        }
        if (members.count(core.cluster) == 0) {
            clusters.push_back(core.cluster);
        }
        Cpus& cpus = members[core.cluster];
        if (!core.cpus.empty()) {
            cpus.push_back(core.cpus.front());
        }
    }
    Cpus neighbours;
    for (const int cluster : clusters) {
        const Cpus& cpus = members[cluster];
        neighbours.insert(neighbours.end(), cpus.begin(),
                          cpus.end() - static_cast<std::ptrdiff_t>(cpus.size() % 2));
    }
    return neighbours;
}

Placement same_cluster(const Cores& ranked, int pairs) {
    Placement placement{"same-cluster", {}, ""};
    const bool none = std::all_of(ranked.begin(), ranked.end(),
                                  [](const Core& core) { return core.cluster < 0; });
    Cpus neighbours = neighbours_in_clusters(ranked);
    const std::size_t needed = 2 * static_cast<std::size_t>(pairs);
    if (none) {
        placement.why_not = "no cores share a cache that others do not";
    } else if (neighbours.size() < needed) {
        placement.why_not = needs(pairs, static_cast<int>(needed), "neighbouring cores in clusters",
                                  neighbours.size());
    } else {
        neighbours.resize(needed);
        placement.cpus = std::move(neighbours);
    }
    return placement;
}

Placement one_kind_cores(const Cores& cores, int pairs) {
    Placement placement{"cores", {}, ""};
    const Cores best =
        only(cores, [&cores](const Core& core) { return core.kind == cores.front().kind; });
    const std::size_t needed = 2 * static_cast<std::size_t>(pairs);
    if (best.size() < needed) {
        const std::string kind =
            best.empty() || best.front().kind.empty() ? "" : best.front().kind + "-";
        placement.why_not = needs(pairs, static_cast<int>(needed), kind + "cores", best.size());
        return placement;
    }
    for (std::size_t i = 0; i < needed; ++i) {
        placement.cpus.push_back(best[i].cpus.front());
    }
    return placement;
}

// Core i of one group and core i of the other are a pair.
Placement across(const std::string& name, const Cores& left, const std::string& left_name,
                 const Cores& right, const std::string& right_name, int pairs) {
    Placement placement{name, {}, ""};
    for (const auto& [group, of] : {std::pair(&left, &left_name), std::pair(&right, &right_name)}) {
        if (group->size() < static_cast<std::size_t>(pairs)) {
            placement.why_not =
                needs(pairs, pairs, (pairs == 1 ? "core of " : "cores of ") + *of, group->size());
            return placement;
        }
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
        placement.cpus.push_back(left[i].cpus.front());
        placement.cpus.push_back(right[i].cpus.front());
    }
    return placement;
}

Placement across_kinds(const Topology& topology, const Cores& cores, int pairs) {
    const std::vector<std::string> kinds = kinds_of(topology.cores);
    if (kinds.size() < 2) {
        const bool told = !kinds.empty();
        return {"across-kinds",
                {},
                told ? "the node has one core kind"
                     : "the node has one core kind, as far as the kernel tells"};
    }
    const auto of = [&cores](const std::string& kind) {
        return only(cores, [&kind](const Core& core) { return core.kind == kind; });
    };
    return across("across-kinds", of(kinds[0]), "kind " + kinds[0], of(kinds[1]),
                  "kind " + kinds[1], pairs);
}

Placement across_packages(const Topology& topology, const Cores& cores, int pairs) {
    std::set<int> packages;
    for (const Core& core : topology.cores) {
        packages.insert(core.package);
    }
    if (packages.size() < 2) {
        return {"across-packages", {}, "the node has one package"};
    }
    const auto of = [&cores](int package) {
        return only(cores, [package](const Core& core) { return core.package == package; });
    };
    const int first = *packages.begin();
    const int second = *std::next(packages.begin());
    return across("across-packages", of(first), "package " + std::to_string(first), of(second),
                  "package " + std::to_string(second), pairs);
}

}  // namespace

std::vector<Placement> pair_placements(const Topology& topology, int pairs) {
    const Cores ranked = ranked_cores(topology);
    const Cores cores = only(ranked, [](const Core& core) { return !core.cpus.empty(); });
    return {same_cpu(cores, pairs),
            siblings(cores, pairs),
            same_cluster(ranked, pairs),
            one_kind_cores(cores, pairs),
            across_kinds(topology, cores, pairs),
            across_packages(topology, cores, pairs)};
}

}  // namespace pinstudy
