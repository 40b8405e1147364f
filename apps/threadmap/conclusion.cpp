#include "apps/threadmap/conclusion.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "apps/common/columns.hpp"
#include "apps/threadmap/core_kinds.hpp"
#include "apps/threadmap/matching.hpp"

namespace pinstudy::threadmap {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool is_single(const Cpus& mask) {
    return mask.size() == 1;
}

// Whether the thread may run wherever the process may, and has a choice. Threads may have been
// given more CPUs than the process had.
bool is_free(const Cpus& mask, const Cpus& process) {
    return std::includes(mask.begin(), mask.end(), process.begin(), process.end()) &&
           !is_single(mask);
}

// Some kinds, best first: "P and E".
std::string kinds_of(const Cpus& cpus, const Topology& topology) {
    std::map<int, std::string> kinds;
    for (const int cpu : cpus) {
        const Core* const core = topology.core_of(cpu);
        if (core != nullptr && !core->kind.empty()) {
            kinds[kind_rank(core->kind)] = core->kind;
        }
    }
    std::string text;
    for (const auto& [rank, kind] : kinds) {
        text += (text.empty() ? "" : " and ") + kind;
    }
    return text;
}

// How many threads are bound to CPUs of which kinds: "2 threads on P, 1 thread on E". Empty unless
// each is bound within one kind, and they are not all of one.
std::string split(const std::vector<Cpus>& masks, const Topology& topology) {
    std::map<std::string, std::size_t> threads_of;
    for (const Cpus& mask : masks) {
        ++threads_of[kinds_of(mask, topology)];
    }
    std::map<int, std::string> parts;
    for (const auto& [kind, threads] : threads_of) {
        if (kind.empty() || kind.find(' ') != std::string::npos) {
            return "";
        }
        parts[kind_rank(kind)] = counted(threads, "thread") + " on " + kind;
    }
    std::string text;
    for (const auto& [rank, part] : parts) {
        text += (text.empty() ? "" : ", ") + part;
    }
    return parts.size() > 1 ? text : "";
}

// The distinct sets among the masks, in the order of their first thread.
std::vector<Cpus> distinct(const std::vector<Cpus>& masks) {
    std::vector<Cpus> sets;
    for (const Cpus& mask : masks) {
        if (std::find(sets.begin(), sets.end(), mask) == sets.end()) {
            sets.push_back(mask);
        }
    }
    return sets;
}

std::string list_sets(const std::vector<Cpus>& sets) {
    constexpr std::size_t kMostShown = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(sets.size(), kMostShown); ++i) {
        text += (text.empty() ? "{" : " {") + format_cpus(sets[i]) + "}";
    }
    return text + (sets.size() > kMostShown ? " ..." : "");
}

bool disjoint(const std::vector<Cpus>& masks) {
    std::set<int> all;
    std::size_t together = 0;
    for (const Cpus& mask : masks) {
        all.insert(mask.begin(), mask.end());
        together += mask.size();
    }
    return all.size() == together;
}

// How the threads are bound, all of them, CPUs in the order of threads.
std::string describe_bound(const std::vector<Cpus>& masks) {
    const bool own = disjoint(masks);
    if (std::all_of(masks.begin(), masks.end(), is_single)) {
        Cpus in_order;
        for (const Cpus& mask : masks) {
            in_order.push_back(mask.front());
        }
        return (own ? "each thread has a CPU of its own: " : "each thread is bound to one CPU: ") +
               format_cpus(in_order);
    }
    const std::vector<Cpus> sets = distinct(masks);
    return own ? "each thread has CPUs of its own: " + list_sets(sets)
               : counted(masks.size(), "thread") + " are bound to " + counted(sets.size(), "set") +
                     " of CPUs: " + list_sets(sets);
}

std::string describe_free(const TeamFacts& facts, std::size_t free) {
    const std::string all =
        counted(facts.process.size(), "CPU") + " of the process: " + format_cpus(facts.process);
    return free == facts.masks.size()
               ? "each thread may run on all " + all
               : std::to_string(free) + " of " + counted(facts.masks.size(), "thread") +
                     " may run on all " + all;
}

// Why not every thread can run at the same time; empty if they can.
std::string describe_oversubscribed(const TeamFacts& facts) {
    std::string text;
    const Shortage shortage = find_shortage(facts.masks);
    if (!shortage.threads.empty()) {
        const bool whole_team = shortage.threads.size() == facts.masks.size();
        text = (whole_team ? "" : std::to_string(shortage.threads.size()) + " of ") +
               counted(facts.masks.size(), "thread") + " have " +
               counted(shortage.cpus.size(), "CPU") + ": " + format_cpus(shortage.cpus);
    }
    if (facts.quota && *facts.quota < static_cast<double>(facts.masks.size())) {
        text += (text.empty() ? "" : "; ") + counted(facts.masks.size(), "thread") +
                (facts.masks.size() == 1 ? " has" : " share") + " a quota of " +
                fixed(*facts.quota, 2) + " CPUs";
    }
    return text;
}

std::size_t cores_with_several(const std::vector<Cpus>& masks, const Topology& topology) {
    std::map<const Core*, std::size_t> threads;
    for (const Cpus& mask : masks) {
        if (const Core* const core = topology.core_of(mask.front()); core != nullptr) {
            ++threads[core];
        }
    }
    return static_cast<std::size_t>(std::count_if(
        threads.begin(), threads.end(), [](const auto& entry) { return entry.second > 1; }));
}

// What else is worth knowing, each with a semicolon before it.
std::string remarks(const TeamFacts& facts, const Topology& topology, bool oversubscribed) {
    // Above this share the rest is what the kernel's own work takes.
    constexpr double kNearlyAll = 0.9;
    std::string text;
    const bool single = std::all_of(facts.masks.begin(), facts.masks.end(), is_single);
    const std::size_t shared = single ? cores_with_several(facts.masks, topology) : 0;
    if (single && disjoint(facts.masks) && shared > 0) {
        text += "; " + counted(shared, "core") + (shared == 1 ? " has" : " have") +
                " more than one thread";
    }
    if (facts.masks_changed > 0) {
        text += "; of " + counted(static_cast<std::size_t>(facts.masks_changed), "thread") +
                " the allowed CPUs changed meanwhile";
    }
    if (!oversubscribed && facts.ran < kNearlyAll) {
        text += "; the threads ran " + fixed(100 * facts.ran, 0) + " % of the time";
    }
    return text;
}

}  // namespace

Conclusion conclude(const TeamFacts& facts, const Topology& topology) {
    const auto free = static_cast<std::size_t>(
        std::count_if(facts.masks.begin(), facts.masks.end(),
                      [&facts](const Cpus& mask) { return is_free(mask, facts.process); }));
    const std::string over = describe_oversubscribed(facts);
    const std::string kinds = free == 0 ? split(facts.masks, topology) : "";
    Conclusion conclusion;
    if (!over.empty()) {
        conclusion.state = "oversubscribed";
        conclusion.details = over + "; ";
    } else if (free > 0) {
        conclusion.state = "free";
    } else {
        conclusion.state = kinds.empty() ? "bound" : "split across kinds";
    }
    if (free > 0) {
        conclusion.details += describe_free(facts, free);
        const std::string reachable = kinds_of(facts.process, topology);
        if (reachable.find(' ') != std::string::npos) {
            conclusion.details += ", of kinds " + reachable;
        }
    } else {
        conclusion.details += (kinds.empty() ? "" : "bound: ") + describe_bound(facts.masks) +
                              (kinds.empty() ? "" : "; " + kinds);
    }
    conclusion.details += remarks(facts, topology, !over.empty());
    return conclusion;
}

}  // namespace pinstudy::threadmap
