// contention: what it costs that two threads write to one cache line, by where the threads are.
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/common/program.hpp"
#include "apps/common/timed_program.hpp"
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
    "pinstudy does that with perf, a run a placement.";

int measure_one(PlacedTeam& team, const Settings& settings) {
    if (const std::string reason = team.take(settings.where.assigned); !reason.empty()) {
        throw std::runtime_error(reason);
    }
    if (const std::string reason = team.violation(settings.where.assigned); !reason.empty()) {
        return report({false, reason});
    }
    const std::vector<Cpus> masks = team.masks();
    Experiment experiment(team, settings, settings.operations().front(), kAsStarted, {});
    introduce(introduction(settings));
    const auto timed = time_rounds(settings.rounds, [&experiment] { return experiment.round(); });
    if (!timed) {
        throw std::runtime_error(experiment.failure());
    }
    std::fputs(values(experiment, *timed, masks).c_str(), stdout);
    const std::string violation = team.violation(settings.where.assigned);
    return report(violation.empty() ? verdict_of({&experiment.check()})
                                    : Verdict{false, violation});
}

int measure_all(PlacedTeam& team, const Settings& settings, const Options& options) {
    NodePlacements node;
    try {
        node = node_placements(settings.where.kinds, team.allowed(),
                               static_cast<int>(settings.pairs()), settings.where.placement);
    } catch (const std::invalid_argument& error) {
        return options.user_error(error.what());
    }
    std::deque<Experiment> experiments;
    for (const Operation operation : settings.operations()) {
        for (const Placement& placement : node.possible) {
            experiments.emplace_back(team, settings, operation, placement.name, placement.cpus);
        }
    }
    introduce(introduction(settings));
    const Results results = measure(experiments, settings.rounds);
    std::fputs(table(experiments, results, node, team.as_started()).c_str(), stdout);
    std::vector<const Check*> checks;
    for (const Experiment& experiment : experiments) {
        checks.push_back(&experiment.check());
    }
    return report(verdict_of(checks));
}

int run(int argc, char** argv) {
    return run_timed<Settings>("contention", kDescription, argc, argv, measure_one, measure_all);
}

}  // namespace
}  // namespace pinstudy::contention

int main(int argc, char** argv) {
    return pinstudy::run_program("contention", pinstudy::contention::run, argc, argv);
}
