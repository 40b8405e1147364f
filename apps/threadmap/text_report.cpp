#include <algorithm>
#include <set>

#include "apps/common/columns.hpp"
#include "apps/threadmap/report.hpp"

namespace pinstudy::threadmap {
namespace {

using Rows = std::vector<std::vector<std::string>>;
constexpr std::size_t kAllLeft = 100;

std::string percent(double share) {
    return fixed(100 * share, 1) + " %";
}

// "P, core 1, package 0"; without the kind where it is not known.
std::string where(int cpu, const Topology& topology) {
    const Core* const core = topology.core_of(cpu);
    if (core == nullptr) {
        return "of no core that was read";
    }
    return (core->kind.empty() ? "" : core->kind + ", ") + "core " +
           std::to_string(core - topology.cores.data()) + ", package " +
           std::to_string(core->package);
}

std::string list_places(const std::vector<Cpus>& places) {
    std::string text;
    for (const Cpus& place : places) {
        text += (text.empty() ? "{" : " {") + format_cpus(place) + "}";
    }
    return text.empty() ? "none" : text;
}

std::string node_lines(const Topology& topology) {
    if (topology.cores.empty()) {
        return "Node: " + topology.kinds_evidence + "\n";
    }
    Cpus online;
    std::set<int> packages;
    for (const Core& core : topology.cores) {
        online.insert(online.end(), core.cpus.begin(), core.cpus.end());
        packages.insert(core.package);
    }
    std::sort(online.begin(), online.end());
    return "Node: " + std::to_string(online.size()) + " CPUs online (" + format_cpus(online) +
           "), cores: " + std::to_string(topology.cores.size()) +
           ", packages: " + std::to_string(packages.size()) +
           "\nCore kinds: " + topology.kinds_evidence + "\n";
}

std::string cgroup_line(const Cgroup& cgroup) {
    const std::string cpus = cgroup.cpus.empty()
                                 ? "CPUs not told"
                                 : "CPUs " + cgroup.cpus + " (" + cgroup.cpus_file + ")";
    const std::string quota =
        cgroup.quota ? "quota of " + fixed(*cgroup.quota, 2) + " CPUs (" + cgroup.quota_file + ")"
                     : "no CPU quota found";
    return "Control group: " + cpus + "; " + quota + "\n";
}

std::string runtime_lines(const Runtime& runtime) {
    if (runtime.library.empty()) {
        return "Runtime: none (C++ threads)\n";
    }
    return "Runtime: " + runtime.library + ", compiled for OpenMP " +
           std::to_string(runtime.openmp) + "; proc_bind " + runtime.proc_bind + ", dynamic " +
           (runtime.dynamic ? "true" : "false") + ", thread limit " +
           std::to_string(runtime.thread_limit) + "\nPlaces: " + list_places(runtime.places) + "\n";
}

std::string seen_on(const Sightings& sightings, const Topology& topology) {
    std::vector<Seen> seen = sightings.cpus();
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Seen& a, const Seen& b) { return a.looks > b.looks; });
    std::string text;
    for (const Seen& of_cpu : seen) {
        text += (text.empty() ? "" : "; ") + std::to_string(of_cpu.cpu) + " (" +
                where(of_cpu.cpu, topology) + ") " +
                percent(static_cast<double>(of_cpu.looks) / static_cast<double>(sightings.looks()));
    }
    return text;
}

std::string team_table(const Team& team, const Topology& topology) {
    Rows rows = {{"thread", "tid", "allowed", "place", "ran", "moves", "first", "last", "seen on"}};
    for (std::size_t i = 0; i < team.members.size(); ++i) {
        const ThreadView& view = team.members[i].view;
        const int place = team.members[i].place;
        rows.push_back({std::to_string(i), std::to_string(view.tid), format_cpus(view.allowed_last),
                        place < 0 ? "-" : std::to_string(place), percent(view.ran),
                        std::to_string(view.seen.moves()), std::to_string(view.seen.first_cpu()),
                        std::to_string(view.seen.last_cpu()), seen_on(view.seen, topology)});
    }
    return in_columns(rows, kAllLeft);
}

std::string timeline(const Team& team) {
    Rows rows;
    for (std::size_t i = 0; i < team.members.size(); ++i) {
        std::vector<std::string> row = {"thread " + std::to_string(i)};
        for (const std::vector<Seen>& slice : team.members[i].view.seen.slices()) {
            row.push_back(slice.empty()
                              ? "."
                              : std::to_string(most_seen(slice)) + (slice.size() > 1 ? "+" : ""));
        }
        rows.push_back(std::move(row));
    }
    return in_columns(rows, kAllLeft);
}

std::string reached_table(const std::vector<Reached>& all, const Topology& topology) {
    Rows rows = {{"CPU", "where", "a thread pinned to it"}};
    for (const Reached& reached : all) {
        rows.push_back(
            {std::to_string(reached.cpu), where(reached.cpu, topology),
             reached.why_not.empty() ? "got there" : "did not get there: " + reached.why_not});
    }
    return in_columns(rows, kAllLeft);
}

}  // namespace

std::string as_text(const Surroundings& surroundings) {
    std::string text = surroundings.version + "\n" + node_lines(surroundings.topology) +
                       "Process: given CPUs " + format_cpus(surroundings.topology.allowed);
    if (surroundings.initial != surroundings.topology.allowed) {
        text += "; its initial thread was bound to " + format_cpus(surroundings.initial) +
                " before main()";
    }
    text.append("\n").append(cgroup_line(surroundings.cgroup));
    text += runtime_lines(surroundings.runtime);
    text += surroundings.variables.empty() ? "Environment: nothing that places threads\n"
                                           : "Environment:\n";
    for (const auto& [name, value] : surroundings.variables) {
        text += "  " + name + "=" + value + "\n";
    }
    return text;
}

std::string as_text(const Outcome& outcome, const Topology& topology) {
    const Team& team = outcome.team;
    const std::size_t slices = team.members.front().view.seen.slices().size();
    const double slice_ms = 1000 * team.seconds / static_cast<double>(slices);
    std::string text = "\nThe team as the environment forms it, at work for " +
                       fixed(team.seconds, 2) + " s:\n" + team_table(team, topology) +
                       "\nOver time, " + fixed(slice_ms, 1) +
                       " ms a column: the CPU (+ where it was not the only one, . where the thread "
                       "did not run)\n" +
                       timeline(team);
    if (outcome.reached) {
        text += "\nA thread on each CPU that the process may use:\n" +
                reached_table(*outcome.reached, topology);
    }
    const Counts counts = count(team);
    return text + "\nThreads: " + std::to_string(counts.threads) +
           "\nCPUs used: " + std::to_string(counts.cpus_used) +
           "\nMoves: " + std::to_string(counts.moves) +
           "\nThreads allowed one CPU: " + std::to_string(counts.bound) + "\n" +
           outcome.conclusion.line() + "\n";
}

Counts count(const Team& team) {
    Counts counts;
    std::set<int> used;
    for (const Member& member : team.members) {
        ++counts.threads;
        counts.moves += member.view.seen.moves();
        counts.bound += member.view.allowed_last.size() == 1 ? 1 : 0;
        for (const Seen& seen : member.view.seen.cpus()) {
            used.insert(seen.cpu);
        }
    }
    counts.cpus_used = used.size();
    return counts;
}

}  // namespace pinstudy::threadmap
