#include "apps/threadmap/conclusion.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "apps/common/program.hpp"

namespace pinstudy::threadmap {
namespace {

using Masks = std::vector<Cpus>;

std::string counted(std::size_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool all_single(const Masks& masks) {
    return std::all_of(masks.begin(), masks.end(),
                       [](const Cpus& mask) { return mask.size() == 1; });
}

bool disjoint(const Masks& masks) {
    std::set<int> all;
    std::size_t together = 0;
    for (const Cpus& mask : masks) {
        all.insert(mask.begin(), mask.end());
        together += mask.size();
    }
    return all.size() == together;
}

// Whether the thread may run wherever the process may, and has a choice. Threads may have been
// given more CPUs than the process had.
bool is_free(const Cpus& mask, const Cpus& process) {
    return mask.size() > 1 &&
           std::includes(mask.begin(), mask.end(), process.begin(), process.end());
}

// How the threads are bound, all of them, CPUs in the order of threads.
std::string describe_bound(const Masks& masks) {
    constexpr std::size_t kMostShown = 8;
    const bool own = disjoint(masks);
    if (all_single(masks)) {
        Cpus in_order;
        for (const Cpus& mask : masks) {
            in_order.push_back(mask.front());
        }
        return (own ? "each thread has a CPU of its own: " : "each thread is bound to one CPU: ") +
               format_cpus(in_order);
    }
    // The distinct sets in the order of their first thread.
    Masks sets;
    std::string listed;
    for (const Cpus& mask : masks) {
        if (std::find(sets.begin(), sets.end(), mask) == sets.end()) {
            sets.push_back(mask);
            listed += sets.size() <= kMostShown ? " {" + format_cpus(mask) + "}" : "";
        }
    }
    listed += sets.size() > kMostShown ? " ..." : "";
    return own ? "each thread has CPUs of its own:" + listed
               : counted(masks.size(), "thread") + " are bound to " + counted(sets.size(), "set") +
                     " of CPUs:" + listed;
}

std::string describe_free(const TeamFacts& facts, std::size_t free) {
    return (free == facts.masks.size()
                ? "each thread"
                : std::to_string(free) + " of " + counted(facts.masks.size(), "thread")) +
           " may run on all " + counted(facts.process.size(), "CPU") +
           " of the process: " + format_cpus(facts.process);
}

// Why not every thread can run at the same time; empty if they can.
std::string describe_oversubscribed(const TeamFacts& facts) {
    const std::string threads = counted(facts.masks.size(), "thread");
    std::string text;
    const Shortage shortage = find_shortage(facts.masks);
    if (!shortage.threads.empty()) {
        const bool whole_team = shortage.threads.size() == facts.masks.size();
        text = (whole_team ? "" : std::to_string(shortage.threads.size()) + " of ") + threads +
               " have " + counted(shortage.cpus.size(), "CPU") + ": " + format_cpus(shortage.cpus);
    }
    if (facts.quota && *facts.quota < static_cast<double>(facts.masks.size())) {
        text += (text.empty() ? "" : "; ") + threads +
                (facts.masks.size() == 1 ? " has" : " share") +
                printed(" a quota of %.2f CPUs", *facts.quota);
    }
    return text;
}

// What else is worth knowing, each with a semicolon before it.
std::string remarks(const TeamFacts& facts, bool oversubscribed) {
    // Above this share the rest is what the kernel's own work takes.
    constexpr double kNearlyAll = 0.9;
    std::string text;
    if (facts.masks_changed > 0) {
        text += "; of " + counted(static_cast<std::size_t>(facts.masks_changed), "thread") +
                " the allowed CPUs changed meanwhile";
    }
    if (!oversubscribed && facts.ran < kNearlyAll) {
        text += printed("; the threads ran %.0f %% of the time", 100 * facts.ran);
    }
    return text;
}

}  // namespace

Conclusion conclude(const TeamFacts& facts) {
    const auto free = static_cast<std::size_t>(
        std::count_if(facts.masks.begin(), facts.masks.end(),
                      [&facts](const Cpus& mask) { return is_free(mask, facts.process); }));
    const std::string over = describe_oversubscribed(facts);
    Conclusion conclusion{free > 0 ? "free" : "bound", ""};
    if (!over.empty()) {
        conclusion = {"oversubscribed", over + "; "};
    }
    conclusion.details += free > 0 ? describe_free(facts, free) : describe_bound(facts.masks);
    conclusion.details += remarks(facts, !over.empty());
    return conclusion;
}

// Gives the threads CPUs one by one, taking one from another thread where that can have a third
// (augmenting paths: König 1931, Kuhn 1955).
Shortage find_shortage(const Masks& masks) {
    std::map<int, std::size_t> owner;  // CPU -> thread
    std::map<std::size_t, int> has;    // thread -> CPU
    for (std::size_t thread = 0; thread < masks.size(); ++thread) {
        // The search is a list of threads still to be helped, not recursion: a chain of thousands
        // of threads must not use up the stack.
        std::map<int, std::size_t> wanted_by;  // CPU -> the thread that wants it
        std::vector<std::size_t> pending{thread};
        bool given = false;
        while (!given && !pending.empty()) {
            const std::size_t helped = pending.back();
            pending.pop_back();
            for (const int cpu : masks[helped]) {
                if (!wanted_by.emplace(cpu, helped).second) {
                    continue;
                }
                if (owner.contains(cpu)) {
                    pending.push_back(owner[cpu]);
                    continue;
                }
                // The free CPU goes to the thread that wants it, that thread's CPU to the one that
                // wants that, and so on up to the thread that had none.
                for (int freed = cpu; freed >= 0;) {
                    const std::size_t taker = wanted_by.at(freed);
                    const int before = has.contains(taker) ? has[taker] : -1;
                    owner[freed] = taker;
                    has[taker] = freed;
                    freed = before;
                }
                given = true;
                break;
            }
        }
        if (given) {
            continue;
        }
        // The CPUs that were tried belong to threads that may run on no others. These and the one
        // that got none are among the threads that may run there only.
        Shortage shortage;
        for (const auto& [cpu, by] : wanted_by) {
            shortage.cpus.push_back(cpu);
        }
        for (std::size_t other = 0; other < masks.size(); ++other) {
            if (std::all_of(masks[other].begin(), masks[other].end(),
                            [&](int cpu) { return wanted_by.contains(cpu); })) {
                shortage.threads.push_back(static_cast<int>(other));
            }
        }
        return shortage;
    }
    return {};
}

}  // namespace pinstudy::threadmap
