// contention: what it costs that two threads write to one cache line, by where the threads are.
#include <cstdio>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/common/build_info.hpp"
#include "apps/common/exit_status.hpp"
#include "apps/common/led_team.hpp"
#include "apps/common/node_placements.hpp"
#include "apps/common/options.hpp"
#include "apps/common/timing.hpp"
#include "apps/contention/experiment.hpp"
#include "apps/contention/report.hpp"
#include "apps/contention/settings.hpp"

namespace pinstudy::contention {
namespace {

constexpr const char* kDescription =
    "Measures what it costs that two threads write to one cache line, by where the threads are: on "
    "one CPU, on SMT siblings, in one cluster, on two cores, of two kinds, in two packages, and as "
    "they were started (left to the scheduler, or placed by whoever started the program). Prints a "
    "table of all placements that the node can do. Cache misses are not counted here: a study of "
    "pinstudy does that with perf, a run a placement. Google Benchmark drives the rounds and takes "
    "its own options, such as --benchmark_out=FILE.";

// Says what is measured, unless the standard output is Google Benchmark's.
void begin(const Settings& settings, const Timing& timing) {
    if (!timing.has_the_output()) {
        std::fputs(introduction(settings).c_str(), stdout);
        // A reader of a pipe sees that the run began.
        std::fflush(stdout);
    }
}

int failed(const std::string& reason) {
    std::fprintf(stderr, "contention: %s\n", reason.c_str());
    return kExitFailed;
}

int measure_one(PlacedTeam& team, const Settings& settings, Timing& timing) {
    if (const std::string reason = team.take(settings.assigned); !reason.empty()) {
        return failed(reason);
    }
    if (const std::string reason = team.violation(settings.assigned); !reason.empty()) {
        return timing.conclude({false, reason});
    }
    const std::vector<Cpus> masks = team.masks();
    Experiment experiment(team, settings, settings.operations().front(), kAsStarted, {});
    timing.add(experiment.name(), settings.rounds, [&experiment] { return experiment.round(); });
    begin(settings, timing);
    const Results results = timing.run();
    const auto found = results.find(experiment.name());
    if (found != results.end()) {
        std::fputs(values(experiment, found->second, masks).c_str(), stdout);
    }
    const std::string violation = team.violation(settings.assigned);
    return timing.conclude(violation.empty() ? verdict_of({&experiment.check()})
                                             : Verdict{false, violation});
}

int measure_all(PlacedTeam& team, const Settings& settings, Timing& timing,
                const Options& options) {
    NodePlacements node;
    try {
        node = node_placements(settings.kinds, team.allowed(), static_cast<int>(settings.pairs()),
                               settings.placement);
    } catch (const std::invalid_argument& error) {
        return options.user_error(error.what());
    }
    std::deque<Experiment> experiments;
    for (const Operation operation : settings.operations()) {
        for (const Placement& placement : node.possible) {
            Experiment& experiment =
                experiments.emplace_back(team, settings, operation, placement.name, placement.cpus);
            timing.add(experiment.name(), settings.rounds,
                       [&experiment] { return experiment.round(); });
        }
    }
    begin(settings, timing);
    const Results results = timing.run();
    if (!results.empty()) {
        std::fputs(table(experiments, results, node, team.as_started()).c_str(), stdout);
    }
    std::vector<const Check*> checks;
    for (const Experiment& experiment : experiments) {
        checks.push_back(&experiment.check());
    }
    return timing.conclude(verdict_of(checks));
}

int run(int argc, char** argv) {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    Timing timing(argv[0], arguments);
    Options options("contention", kDescription, version_text("contention"));
    Settings settings;
    add_options(options, settings);
    if (const auto exit_status = options.parse(arguments)) {
        return *exit_status;
    }
    for (const std::string& mistake : {timing.mistake(), why_not(settings)}) {
        if (!mistake.empty()) {
            return options.user_error(mistake + " (see --help)");
        }
    }
    return lead_team(static_cast<int>(settings.threads), [&](PlacedTeam& team) {
        return settings.one_placement() ? measure_one(team, settings, timing)
                                        : measure_all(team, settings, timing, options);
    });
}

}  // namespace
}  // namespace pinstudy::contention

int main(int argc, char** argv) {
    try {
        return pinstudy::contention::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "contention: %s\n", error.what());
        return pinstudy::kExitFailed;
    }
}
