#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/threadmap/report.hpp"

namespace pinstudy::threadmap {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value, double steps) {
    return std::round(value * steps) / steps;
}

// Kind (null where it is not known), core and package of a CPU.
void add_where(Json& object, int cpu, const Topology& topology) {
    if (const Core* const core = topology.core_of(cpu); core != nullptr) {
        object["kind"] = core->kind.empty() ? Json() : Json(core->kind);
        object["core"] = core - topology.cores.data();
        object["package"] = core->package;
    }
}

Json node(const Topology& topology) {
    Json cpus = Json::array();
    for (const Core& core : topology.cores) {
        for (const int cpu : core.cpus) {
            add_where(cpus.emplace_back(Json{{"cpu", cpu}}), cpu, topology);
        }
    }
    return {{"kinds_evidence", topology.kinds_evidence}, {"cpus", cpus}};
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

Json thread(std::size_t index, const Member& member, const Topology& topology) {
    const Sightings& seen = member.view.seen;
    Json visited = Json::array();
    for (const Seen& of_cpu : seen.cpus()) {
        Json& entry = visited.emplace_back(Json{{"cpu", of_cpu.cpu}, {"looks", of_cpu.looks}});
        add_where(entry, of_cpu.cpu, topology);
    }
    Json slices = Json::array();
    for (const std::vector<Seen>& slice : seen.slices()) {
        Json& cpus = slices.emplace_back(Json::array());
        for (const Seen& of_cpu : slice) {
            cpus.push_back(of_cpu.cpu);
        }
    }
    return {{"thread", index},
            {"tid", member.view.tid},
            {"allowed", member.view.allowed_last},
            {"allowed_first", member.view.allowed_first},
            {"place", member.place < 0 ? Json() : Json(member.place)},
            {"ran", rounded(member.view.ran, 1e4)},
            {"looks", seen.looks()},
            {"moves", seen.moves()},
            {"first_cpu", seen.first_cpu()},
            {"last_cpu", seen.last_cpu()},
            {"visited", visited},
            {"slices", slices}};
}

Json team_object(const Outcome& outcome, const Topology& topology) {
    const Counts counts = count(outcome.team);
    Json threads = Json::array();
    for (std::size_t i = 0; i < outcome.team.members.size(); ++i) {
        threads.push_back(thread(i, outcome.team.members[i], topology));
    }
    return {{"seconds", outcome.team.seconds},
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
        Json& entry =
            list.emplace_back(Json{{"cpu", reached.cpu}, {"reached", reached.why_not.empty()}});
        if (!reached.why_not.empty()) {
            entry["why_not"] = reached.why_not;
        }
    }
    return list;
}

}  // namespace

std::string as_json(const Surroundings& surroundings, const Outcome& outcome) {
    const Topology& topology = surroundings.topology;
    Json variables = Json::object();
    for (const auto& [name, value] : surroundings.variables) {
        variables[name] = value;
    }
    Json map = {
        {"program", surroundings.version},
        {"node", node(topology)},
        {"process", {{"allowed", topology.allowed}, {"initial_thread", surroundings.initial}}},
        {"cgroup", cgroup_object(surroundings.cgroup)},
        {"runtime", runtime_object(surroundings.runtime)},
        {"environment", variables},
        {"team", team_object(outcome, topology)}};
    if (outcome.reached) {
        map["each_cpu"] = reached_list(*outcome.reached);
    }
    map["check"] = {{"passed", outcome.check.passed}, {"reason", outcome.check.reason}};
    // A text may hold any bytes, as the name of a control group does.
    return map.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pinstudy::threadmap
