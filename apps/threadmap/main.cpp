// threadmap: who runs where, under the environment as it is.
#include <cstdio>
#include <stdexcept>

#include "apps/common/build_info.hpp"
#include "apps/common/exit_status.hpp"
#include "apps/common/program.hpp"
#include "apps/threadmap/environment.hpp"
#include "apps/threadmap/report.hpp"
#include "apps/threadmap/settings.hpp"
#include "apps/threadmap/start_mask.hpp"

extern char** environ;

namespace pinstudy::threadmap {
namespace {

constexpr int kSlices = 20;

// The first two lines, program and variant, in one.
std::string first_lines(std::string text) {
    text.replace(text.find('\n'), 1, ", ");
    return text.substr(0, text.find('\n'));
}

Surroundings look_around(const Topology& topology, const Cpus& initial) {
    Surroundings surroundings;
    surroundings.version = first_lines(version_text("threadmap"));
    surroundings.topology = topology;
    surroundings.initial = initial;
    surroundings.cgroup = read_cgroup(KernelFiles("/"));
    surroundings.runtime = describe_runtime();
    surroundings.variables = placing_variables(environ);
    return surroundings;
}

TeamFacts facts_of(const Team& team, const Surroundings& surroundings) {
    TeamFacts facts;
    facts.process = surroundings.topology.allowed;
    facts.quota = surroundings.cgroup.quota;
    facts.ran = 0;
    for (const Member& member : team.members) {
        facts.masks.push_back(member.view.allowed_last);
        facts.masks_changed += member.view.allowed_changed ? 1 : 0;
        facts.ran += member.view.ran / static_cast<double>(team.members.size());
    }
    return facts;
}

// The kernel never lets a thread run where it is not allowed; what was assigned on the command line
// must be what it is allowed.
Verdict check(const Team& team, bool assigned) {
    for (std::size_t i = 0; i < team.members.size(); ++i) {
        const Member& member = team.members[i];
        if (!member.misplaced.empty()) {
            return {false, member.misplaced};
        }
        if (!member.view.outside.empty()) {
            return {false, "thread " + std::to_string(i) + " was seen on CPU " +
                               format_cpus(member.view.outside) + ", which it is not allowed"};
        }
    }
    return {true, assigned ? "each thread may run on the CPU assigned to it only"
                           : "each thread was seen only on CPUs that it is allowed"};
}

// The node as its files describe it, and where threads run without such files, what is known
// without them.
Topology topology_of(const Settings& settings) {
    const Cpus given = mask_at_start();
    try {
        return read_topology("/", settings.kinds, given);
    } catch (const std::runtime_error& error) {
        return {{}, given, error.what()};
    }
}

int print_map(const Settings& settings, int threads, const Surroundings& surroundings) {
    const Topology& topology = surroundings.topology;
    if (!settings.json) {
        std::fputs(as_text(surroundings).c_str(), stdout);
    }
    Outcome outcome;
    outcome.team = watch_team(threads, settings.seconds, kSlices, settings.assigned);
    if (!outcome.team.problem.empty()) {
        throw std::runtime_error(outcome.team.problem);
    }
    outcome.conclusion = conclude(facts_of(outcome.team, surroundings), topology);
    outcome.check = check(outcome.team, settings.assigned.given());
    // After the team: what pins threads as they are created would count these, too.
    if (!settings.team_only) {
        outcome.reached = reach_each(topology.allowed);
    }
    if (settings.json) {
        std::fputs(as_json(surroundings, outcome).c_str(), stdout);
        return outcome.check.passed ? kExitOk : kExitCheckFailed;
    }
    std::fputs(as_text(outcome, topology).c_str(), stdout);
    return report(outcome.check);
}

int run(int argc, char** argv) {
    // Before the first team is formed, with which some runtimes bind this thread.
    const Cpus initial = allowed_cpus();
    // Whoever reads along, or ends the program, has every line that was printed.
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    Options options("threadmap",
                    "Forms a team of threads under the environment as it is, lets it work, and "
                    "prints which thread ran where; then starts a thread on each CPU.",
                    version_text("threadmap"));
    Settings settings;
    settings.add_options(options);
    if (const auto exit_status = options.parse(argc, argv)) {
        return *exit_status;
    }
    Topology topology;
    try {
        topology = topology_of(settings);
    } catch (const std::invalid_argument& error) {
        return options.user_error(std::string("--kinds: ") + error.what());
    }
    const int threads = settings.threads > 0 ? static_cast<int>(settings.threads)
                                             : default_team_size(topology.allowed);
    if (const std::string why = settings.assigned.why_not(threads); !why.empty()) {
        return options.user_error(why);
    }
    return print_map(settings, threads, look_around(topology, initial));
}

}  // namespace
}  // namespace pinstudy::threadmap

int main(int argc, char** argv) {
    return pinstudy::run_program("threadmap", pinstudy::threadmap::run, argc, argv);
}
