// smt: what two threads of one core cost each other, when they wait and when they compute.
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
#include "apps/smt/experiment.hpp"
#include "apps/smt/plan.hpp"
#include "apps/smt/report.hpp"
#include "apps/smt/settings.hpp"

namespace pinstudy::smt {
namespace {

constexpr const char* kDescription =
    "Measures how much two threads slow each other down, by where they are: on one CPU, on SMT "
    "siblings, in one cluster, on two cores, of two kinds, in two packages, and as they were "
    "started "
    "(left to the scheduler, or placed by whoever started the program). One work waits for its "
    "additions (accumulate), the other keeps the core's units busy (sin). Prints a table of all "
    "placements that the node can do, with the slowdown against a thread alone on the same CPU. "
    "Google Benchmark drives the rounds and takes its own options, such as --benchmark_out=FILE.";

// Says what is measured, unless the standard output is Google Benchmark's.
void begin(const Settings& settings, const Timing& timing) {
    if (!timing.has_the_output()) {
        std::fputs(introduction(settings).c_str(), stdout);
        // A reader of a pipe sees that the run began.
        std::fflush(stdout);
    }
}

int failed(const std::string& reason) {
    std::fprintf(stderr, "smt: %s\n", reason.c_str());
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
    Workshop workshop(team, settings.items);
    Experiment experiment(workshop, settings.work + "/" + kAsStarted, {},
                          works_of(settings.work, settings.threads));
    timing.add(experiment.name(), settings.rounds, [&experiment] { return experiment.round(); });
    begin(settings, timing);
    const Results results = timing.run();
    if (!experiment.failure().empty()) {
        return failed(experiment.failure());
    }
    const auto found = results.find(experiment.name());
    if (found != results.end()) {
        std::fputs(values(experiment, found->second, masks).c_str(), stdout);
    }
    const std::string violation = team.violation(settings.assigned);
    return timing.conclude(
        violation.empty() ? workshop.check().verdict(static_cast<std::uint64_t>(settings.items))
                          : Verdict{false, violation});
}

int measure_all(PlacedTeam& team, const Settings& settings, Timing& timing,
                const Options& options) {
    NodePlacements node;
    try {
        node = node_placements(settings.kinds, team.allowed(),
                               static_cast<int>(settings.threads / 2), settings.placement);
    } catch (const std::invalid_argument& error) {
        return options.user_error(error.what());
    }
    Workshop workshop(team, settings.items);
    std::deque<Experiment> experiments;
    for (const Planned& planned : plan(settings, node)) {
        Experiment& experiment =
            experiments.emplace_back(workshop, planned.name, planned.cpus, planned.works);
        timing.add(experiment.name(), settings.rounds,
                   [&experiment] { return experiment.round(); });
    }
    begin(settings, timing);
    const Results results = timing.run();
    if (!results.empty()) {
        std::fputs(table(experiments, results, node, settings.items, team.as_started()).c_str(),
                   stdout);
    }
    return timing.conclude(workshop.check().verdict(static_cast<std::uint64_t>(settings.items)));
}

int run(int argc, char** argv) {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    Timing timing(argv[0], arguments);
    Options options("smt", kDescription, version_text("smt"));
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
}  // namespace pinstudy::smt

int main(int argc, char** argv) {
    try {
        return pinstudy::smt::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "smt: %s\n", error.what());
        return pinstudy::kExitFailed;
    }
}
