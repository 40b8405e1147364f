#include "apps/common/columns.hpp"
#include "apps/threadmap/json.hpp"
#include "apps/threadmap/report.hpp"

namespace pinstudy::threadmap {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::string number(std::int64_t value) {
    return std::to_string(value);
}

// Kind (null where it is not known), core and package of a CPU.
void add_where(Members& members, int cpu, const Topology& topology) {
    const Core* const core = topology.core_of(cpu);
    if (core == nullptr) {
        return;
    }
    members.emplace_back("kind", core->kind.empty() ? "null" : json_text(core->kind));
    members.emplace_back("core", number(core - topology.cores.data()));
    members.emplace_back("package", number(core->package));
}

std::string node(const Topology& topology) {
    std::vector<std::string> cpus;
    for (const Core& core : topology.cores) {
        for (const int cpu : core.cpus) {
            Members members = {{"cpu", number(cpu)}};
            add_where(members, cpu, topology);
            cpus.push_back(json_object(members));
        }
    }
    return json_object(
        {{"kinds_evidence", json_text(topology.kinds_evidence)}, {"cpus", json_list(cpus)}});
}

std::string cgroup_object(const Cgroup& cgroup) {
    Members members;
    if (!cgroup.cpus.empty()) {
        members.emplace_back("cpus", json_text(cgroup.cpus));
        members.emplace_back("cpus_file", json_text(cgroup.cpus_file));
    }
    if (cgroup.quota) {
        members.emplace_back("quota_cpus", fixed(*cgroup.quota, 6));
        members.emplace_back("quota_file", json_text(cgroup.quota_file));
    }
    return json_object(members);
}

std::string runtime_object(const Runtime& runtime) {
    if (runtime.library.empty()) {
        return "null";
    }
    std::vector<std::string> places;
    for (const Cpus& place : runtime.places) {
        places.push_back(json_numbers(place));
    }
    return json_object({{"library", json_text(runtime.library)},
                        {"openmp", number(runtime.openmp)},
                        {"proc_bind", json_text(runtime.proc_bind)},
                        {"places", json_list(places)},
                        {"dynamic", json_bool(runtime.dynamic)},
                        {"thread_limit", number(runtime.thread_limit)}});
}

std::string variables_object(const Members& variables) {
    Members members;
    for (const auto& [name, value] : variables) {
        members.emplace_back(name, json_text(value));
    }
    return json_object(members);
}

std::string thread(std::size_t index, const Member& member, const Topology& topology) {
    const Sightings& seen = member.view.seen;
    std::vector<std::string> visited;
    for (const Seen& of_cpu : seen.cpus()) {
        Members members = {{"cpu", number(of_cpu.cpu)}, {"looks", number(of_cpu.looks)}};
        add_where(members, of_cpu.cpu, topology);
        visited.push_back(json_object(members));
    }
    std::vector<std::string> slices;
    for (const std::vector<Seen>& slice : seen.slices()) {
        Cpus cpus;
        for (const Seen& of_cpu : slice) {
            cpus.push_back(of_cpu.cpu);
        }
        slices.push_back(json_numbers(cpus));
    }
    return json_object({{"thread", std::to_string(index)},
                        {"tid", number(member.view.tid)},
                        {"allowed", json_numbers(member.view.allowed_last)},
                        {"allowed_first", json_numbers(member.view.allowed_first)},
                        {"place", member.place < 0 ? "null" : number(member.place)},
                        {"ran", fixed(member.view.ran, 4)},
                        {"looks", number(seen.looks())},
                        {"moves", number(seen.moves())},
                        {"first_cpu", number(seen.first_cpu())},
                        {"last_cpu", number(seen.last_cpu())},
                        {"visited", json_list(visited)},
                        {"slices", json_list(slices)}});
}

std::string team_object(const Outcome& outcome, const Topology& topology) {
    const Counts counts = count(outcome.team);
    std::vector<std::string> threads;
    for (std::size_t i = 0; i < outcome.team.members.size(); ++i) {
        threads.push_back(thread(i, outcome.team.members[i], topology));
    }
    return json_object({{"seconds", fixed(outcome.team.seconds, 3)},
                        {"cpus_used", std::to_string(counts.cpus_used)},
                        {"moves", number(counts.moves)},
                        {"bound", std::to_string(counts.bound)},
                        {"state", json_text(outcome.conclusion.state)},
                        {"details", json_text(outcome.conclusion.details)},
                        {"threads", json_list(threads)}});
}

std::string reached_list(const std::vector<Reached>& all) {
    std::vector<std::string> list;
    for (const Reached& reached : all) {
        Members members = {{"cpu", number(reached.cpu)},
                           {"reached", json_bool(reached.why_not.empty())}};
        if (!reached.why_not.empty()) {
            members.emplace_back("why_not", json_text(reached.why_not));
        }
        list.push_back(json_object(members));
    }
    return json_list(list);
}

}  // namespace

std::string as_json(const Surroundings& surroundings, const Outcome& outcome) {
    const Topology& topology = surroundings.topology;
    Members members = {
        {"program", json_text(surroundings.version)},
        {"node", node(topology)},
        {"process", json_object({{"allowed", json_numbers(topology.allowed)},
                                 {"initial_thread", json_numbers(surroundings.initial)}})},
        {"cgroup", cgroup_object(surroundings.cgroup)},
        {"runtime", runtime_object(surroundings.runtime)},
        {"environment", variables_object(surroundings.variables)},
        {"team", team_object(outcome, topology)}};
    if (outcome.reached) {
        members.emplace_back("each_cpu", reached_list(*outcome.reached));
    }
    members.emplace_back("check", json_object({{"passed", json_bool(outcome.check.passed)},
                                               {"reason", json_text(outcome.check.reason)}}));
    return json_object(members) + "\n";
}

}  // namespace pinstudy::threadmap
