#include "apps/threadmap/report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace pinstudy::threadmap {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

// The numbers that a study reads: distinct CPUs on which threads were seen, moves, and threads that
// are allowed exactly one CPU.
struct Counts {
    std::size_t cpus_used = 0;
    std::int64_t moves = 0;
    std::size_t bound = 0;
};

Counts count(const std::vector<Member>& members) {
    Counts counts;
    std::set<int> used;
    for (const Member& member : members) {
        counts.moves += member.seen.moves;
        counts.bound += member.allowed_last.size() == 1 ? 1 : 0;
        for (const auto& [cpu, looks] : member.seen.cpus()) {
            used.insert(cpu);
        }
    }
    counts.cpus_used = used.size();
    return counts;
}

// One line a row, its cells two blanks apart and as wide as the widest of their column. Lines end
// without blanks.
std::string in_columns(const Rows& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return text;
}

std::string percent(double share) {
    return printed("%.1f %%", 100 * share);
}

std::string cgroup_line(const Cgroup& cgroup) {
    return "Control group: " +
           (cgroup.cpus.empty() ? "CPUs not told"
                                : "CPUs " + cgroup.cpus + " (" + cgroup.cpus_file + ")") +
           (cgroup.quota
                ? printed("; quota of %.2f CPUs (", *cgroup.quota) + cgroup.quota_file + ")\n"
                : "; no CPU quota found\n");
}

std::string runtime_lines(const Runtime& runtime) {
    if (runtime.library.empty()) {
        return "Runtime: none (C++ threads)\n";
    }
    std::string places;
    for (const Cpus& place : runtime.places) {
        places += " {" + format_cpus(place) + "}";
    }
    return "Runtime: " + runtime.library + ", compiled for OpenMP " +
           std::to_string(runtime.openmp) + "; proc_bind " + runtime.proc_bind + ", dynamic " +
           (runtime.dynamic ? "true" : "false") + ", thread limit " +
           std::to_string(runtime.thread_limit) +
           "\nPlaces:" + (places.empty() ? " none" : places) + "\n";
}

// The CPUs of a thread, those of the most looks first.
std::string seen_on(const Sightings& sightings) {
    const Looks looks = sightings.cpus();
    std::vector<std::pair<int, std::int64_t>> seen(looks.begin(), looks.end());
    std::stable_sort(seen.begin(), seen.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (const auto& [cpu, times] : seen) {
        text += (text.empty() ? "" : "; ") + std::to_string(cpu) + " " +
                percent(static_cast<double>(times) / static_cast<double>(sightings.looks));
    }
    return text;
}

std::string team_table(const std::vector<Member>& members) {
    Rows rows = {{"thread", "tid", "allowed", "place", "ran", "moves", "first", "last", "seen on"}};
    for (const Member& member : members) {
        rows.push_back({std::to_string(rows.size() - 1), std::to_string(member.tid),
                        format_cpus(member.allowed_last),
                        member.place < 0 ? "-" : std::to_string(member.place), percent(member.ran),
                        std::to_string(member.seen.moves), std::to_string(member.seen.first_cpu),
                        std::to_string(member.seen.last_cpu), seen_on(member.seen)});
    }
    return in_columns(rows);
}

std::string timeline(const std::vector<Member>& members) {
    Rows rows;
    for (const Member& member : members) {
        auto& row = rows.emplace_back(1, "thread " + std::to_string(rows.size()));
        for (const Looks& slice : member.seen.slices) {
            const auto most =
                std::max_element(slice.begin(), slice.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
            row.push_back(
                slice.empty() ? "." : std::to_string(most->first) + (slice.size() > 1 ? "+" : ""));
        }
    }
    return in_columns(rows);
}

std::string reached_table(const std::vector<Reached>& all) {
    Rows rows = {{"CPU", "a thread pinned to it"}};
    for (const Reached& reached : all) {
        rows.push_back(
            {std::to_string(reached.cpu),
             reached.why_not.empty() ? "got there" : "did not get there: " + reached.why_not});
    }
    return in_columns(rows);
}

double rounded(double value, double steps) {
    return std::round(value * steps) / steps;
}

Json cgroup_object(const Cgroup& cgroup) {
    Json object = Json::object();
    if (!cgroup.cpus.empty()) {
        object["cpus"] = cgroup.cpus;
        object["cpus_file"] = cgroup.cpus_file;
    }
    if (cgroup.quota) {
        object["quota_cpus"] = rounded(*cgroup.quota, 1e6);
        object["quota_file"] = cgroup.quota_file;
    }
    return object;
}

Json runtime_object(const Runtime& runtime) {
    if (runtime.library.empty()) {
        return nullptr;
    }
    return {{"library", runtime.library},     {"openmp", runtime.openmp},
            {"proc_bind", runtime.proc_bind}, {"places", runtime.places},
            {"dynamic", runtime.dynamic},     {"thread_limit", runtime.thread_limit}};
}

Json thread_object(std::size_t index, const Member& member) {
    Json visited = Json::array();
    for (const auto& [cpu, looks] : member.seen.cpus()) {
        visited.push_back({{"cpu", cpu}, {"looks", looks}});
    }
    Json slices = Json::array();
    for (const Looks& slice : member.seen.slices) {
        Json& cpus = slices.emplace_back(Json::array());
        for (const auto& [cpu, looks] : slice) {
            cpus.push_back(cpu);
        }
    }
    return {{"thread", index},
            {"tid", member.tid},
            {"allowed", member.allowed_last},
            {"allowed_first", member.allowed_first},
            {"place", member.place < 0 ? Json() : Json(member.place)},
            {"ran", rounded(member.ran, 1e4)},
            {"looks", member.seen.looks},
            {"moves", member.seen.moves},
            {"first_cpu", member.seen.first_cpu},
            {"last_cpu", member.seen.last_cpu},
            {"visited", visited},
            {"slices", slices}};
}

Json team_object(const Outcome& outcome) {
    const Counts counts = count(outcome.members);
    Json threads = Json::array();
    for (const Member& member : outcome.members) {
        threads.push_back(thread_object(threads.size(), member));
    }
    return {{"seconds", outcome.seconds},
            {"cpus_used", counts.cpus_used},
            {"moves", counts.moves},
            {"bound", counts.bound},
            {"state", outcome.conclusion.state},
            {"details", outcome.conclusion.details},
            {"threads", threads}};
}

Json reached_list(const std::vector<Reached>& all) {
    Json list = Json::array();
    for (const Reached& reached : all) {
        list.push_back({{"cpu", reached.cpu}, {"reached", reached.why_not.empty()}});
        if (!reached.why_not.empty()) {
            list.back()["why_not"] = reached.why_not;
        }
    }
    return list;
}

}  // namespace

std::string as_text(const Surroundings& surroundings) {
    std::string text =
        surroundings.version + "\nProcess: given CPUs " + format_cpus(surroundings.allowed);
    if (surroundings.initial != surroundings.allowed) {
        text += "; its initial thread was bound to " + format_cpus(surroundings.initial) +
                " before main()";
    }
    text += "\n" + cgroup_line(surroundings.cgroup) + runtime_lines(surroundings.runtime);
    text += surroundings.variables.empty() ? "Environment: nothing that places threads\n"
                                           : "Environment:\n";
    for (const auto& [name, value] : surroundings.variables) {
        text += "  " + name + "=" + value + "\n";
    }
    return text;
}

std::string as_text(const Outcome& outcome) {
    const std::size_t slices = outcome.members.front().seen.slices.size();
    const double slice_ms = 1000 * outcome.seconds / static_cast<double>(slices);
    std::string text =
        printed("\nThe team as the environment forms it, at work for %.2f s:\n", outcome.seconds) +
        team_table(outcome.members) +
        printed(
            "\nOver time, %.1f ms a column: the CPU (+ where it was not the only one, . where "
            "the thread did not run)\n",
            slice_ms) +
        timeline(outcome.members);
    if (outcome.reached) {
        text +=
            "\nA thread on each CPU that the process may use:\n" + reached_table(*outcome.reached);
    }
    const Counts counts = count(outcome.members);
    return text + "\nThreads: " + std::to_string(outcome.members.size()) +
           "\nCPUs used: " + std::to_string(counts.cpus_used) +
           "\nMoves: " + std::to_string(counts.moves) +
           "\nThreads allowed one CPU: " + std::to_string(counts.bound) + "\n" +
           outcome.conclusion.line() + "\n";
}

std::string as_json(const Surroundings& surroundings, const Outcome& outcome) {
    Json variables = Json::object();
    for (const auto& [name, value] : surroundings.variables) {
        variables[name] = value;
    }
    Json map = {
        {"program", surroundings.version},
        {"process", {{"allowed", surroundings.allowed}, {"initial_thread", surroundings.initial}}},
        {"cgroup", cgroup_object(surroundings.cgroup)},
        {"runtime", runtime_object(surroundings.runtime)},
        {"environment", variables},
        {"team", team_object(outcome)}};
    if (outcome.reached) {
        map["each_cpu"] = reached_list(*outcome.reached);
    }
    map["check"] = {{"passed", outcome.check.passed}, {"reason", outcome.check.reason}};
    // A text may hold any bytes, as the name of a control group does.
    return map.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pinstudy::threadmap
