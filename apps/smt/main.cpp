// smt: what two threads of one core cost each other, when they wait and when they compute.
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/common/program.hpp"
#include "apps/common/timed_program.hpp"
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
    "placements that the node can do, with the slowdown against a thread alone on the same CPU.";

int measure_one(PlacedTeam& team, const Settings& settings) {
    if (const std::string reason = team.take(settings.where.assigned); !reason.empty()) {
        throw std::runtime_error(reason);
    }
    if (const std::string reason = team.violation(settings.where.assigned); !reason.empty()) {
        return report({false, reason});
    }
    const std::vector<Cpus> masks = team.masks();
    Workshop workshop(team, settings.items);
    Experiment experiment(workshop, settings.work + "/" + kAsStarted, {},
                          works_of(settings.work, settings.threads));
    introduce(introduction(settings));
    const auto timed = time_rounds(settings.rounds, [&experiment] { return experiment.round(); });
    if (!timed || !experiment.failure().empty()) {
        throw std::runtime_error(experiment.failure());
    }
    std::fputs(values(experiment, *timed, masks).c_str(), stdout);
    const std::string violation = team.violation(settings.where.assigned);
    return report(violation.empty()
                      ? workshop.check().verdict(static_cast<std::uint64_t>(settings.items))
                      : Verdict{false, violation});
}

int measure_all(PlacedTeam& team, const Settings& settings, const Options& options) {
    NodePlacements node;
    try {
        node = node_placements(settings.where.kinds, team.allowed(),
                               static_cast<int>(settings.threads / 2), settings.where.placement);
    } catch (const std::invalid_argument& error) {
        return options.user_error(error.what());
    }
    Workshop workshop(team, settings.items);
    std::deque<Experiment> experiments;
    for (const Planned& planned : plan(settings, node)) {
        experiments.emplace_back(workshop, planned.name, planned.cpus, planned.works);
    }
    introduce(introduction(settings));
    const Results results = measure(experiments, settings.rounds);
    std::fputs(table(experiments, results, node, settings.items, team.as_started()).c_str(),
               stdout);
    return report(workshop.check().verdict(static_cast<std::uint64_t>(settings.items)));
}

int run(int argc, char** argv) {
    return run_timed<Settings>("smt", kDescription, argc, argv, measure_one, measure_all);
}

}  // namespace
}  // namespace pinstudy::smt

int main(int argc, char** argv) {
    return pinstudy::run_program("smt", pinstudy::smt::run, argc, argv);
}
