// threadmap: where each thread runs, in the present environment.
#include <cstdio>

#include "apps/common/options.hpp"
#include "apps/common/program.hpp"
#include "apps/threadmap/report.hpp"
#include "apps/threadmap/start_mask.hpp"

extern char** environ;

namespace pinstudy::threadmap {
namespace {

struct Settings {
    std::int64_t threads = 0;  // 0: as many as the environment sets
    double seconds = 1;
    bool team_only = false;
    bool json = false;
    AssignedCpus assigned;
};

void add_options(Options& options, Settings& settings) {
    options.integer("--threads", settings.threads, 0, 65536,
                    "Threads of the team; 0 for as many as the environment says");
    options.real("--duration", "SECONDS", settings.seconds, 0.01, 3600,
                 "How long the team is watched");
    options.flag("--team-only", settings.team_only,
                 "Form the team only, and start no thread on each CPU");
    settings.assigned.add_options(options);
    options.flag("--json", settings.json, "Print JSON instead of text");
}

Surroundings look_around(const Cpus& allowed, const Cpus& initial) {
    // Its first two lines, program and build, in one.
    std::string version = version_text("threadmap");
    version.replace(version.find('\n'), 1, ", ");
    version.resize(version.find('\n'));
    return {version,
            allowed,
            initial,
            read_cgroup(KernelFiles("")),
            describe_runtime(),
            placing_variables(environ)};
}

Conclusion conclude_from(const std::vector<Member>& members, const Surroundings& surroundings) {
    TeamFacts facts;
    facts.process = surroundings.allowed;
    facts.quota = surroundings.cgroup.quota;
    facts.ran = 0;
    for (const Member& member : members) {
        facts.masks.push_back(member.allowed_last);
        facts.masks_changed += member.allowed_changed ? 1 : 0;
        facts.ran += member.ran / static_cast<double>(members.size());
    }
    return conclude(facts);
}

// The kernel never lets a thread run where it is not allowed; the CPU assigned on the command line
// must be the allowed one.
Verdict check(const std::vector<Member>& members, bool assigned) {
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!members[i].misplaced.empty()) {
            return {false, members[i].misplaced};
        }
        if (!members[i].outside.empty()) {
            return {false, "thread " + std::to_string(i) + " was seen on CPU " +
                               format_cpus(members[i].outside) + ", which it is not allowed"};
        }
    }
    return {true, assigned ? "each thread may run on the CPU assigned to it only"
                           : "each thread was seen only on CPUs that it is allowed"};
}

int print_map(const Settings& settings, int threads, const Surroundings& surroundings) {
    constexpr int kSlices = 20;
    if (!settings.json) {
        std::fputs(as_text(surroundings).c_str(), stdout);
    }
    Outcome outcome;
    outcome.seconds = settings.seconds;
    outcome.members = watch_team(threads, settings.seconds, kSlices, settings.assigned);
    outcome.conclusion = conclude_from(outcome.members, surroundings);
    outcome.check = check(outcome.members, settings.assigned.given());
    // After the team: a launcher that pins threads as they are created would count these, too.
    if (!settings.team_only) {
        outcome.reached = reach_each(surroundings.allowed);
    }
    if (settings.json) {
        std::fputs(as_json(surroundings, outcome).c_str(), stdout);
        return outcome.check.passed ? kExitOk : kExitCheckFailed;
    }
    std::fputs(as_text(outcome).c_str(), stdout);
    return report(outcome.check);
}

int run(int argc, char** argv) {
    // Before the first team is formed, with which some runtimes bind this thread.
    const Cpus initial = allowed_cpus();
    Options options("threadmap",
                    "Forms a team of threads under the environment as it is, lets it work, and "
                    "prints which thread ran where; then starts a thread on each CPU.");
    Settings settings;
    add_options(options, settings);
    if (const auto exit_status = options.parse(argc, argv)) {
        return *exit_status;
    }
    const Cpus allowed = mask_at_start();
    const int threads =
        settings.threads > 0 ? static_cast<int>(settings.threads) : default_team_size(allowed);
    if (const std::string why = settings.assigned.why_not(threads); !why.empty()) {
        return options.user_error(why);
    }
    return print_map(settings, threads, look_around(allowed, initial));
}

}  // namespace
}  // namespace pinstudy::threadmap

int main(int argc, char** argv) {
    return pinstudy::run_program("threadmap", pinstudy::threadmap::run, argc, argv);
}
