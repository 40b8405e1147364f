// contention: what it costs that two threads write to one cache line, by where the threads are.
#include <vector>

#include "apps/common/placed_program.hpp"
#include "apps/common/program.hpp"
#include "apps/contention/experiment.hpp"
#include "apps/contention/report.hpp"
#include "apps/contention/settings.hpp"

namespace pinstudy::contention {
namespace {

constexpr const char* kDescription =
    "Measures what it costs that two threads write to one cache line, in one placement: where "
    "--pin "
    "puts the threads, or as they were started (left to the scheduler, or placed by whoever "
    "started "
    "the program). To compare placements, and to count cache misses, run a study: pinstudy run "
    "affinity.";

Verdict measure(PlacedTeam& team, const Settings& settings) {
    const std::vector<Cpus> masks = team.masks();
    Experiment experiment(team, settings);
    print_now(introduction(settings));
    Samples ms;
    for (std::int64_t i = 0; i < settings.rounds; ++i) {
        ms.push_back(experiment.round());
    }
    print_now(values(settings, experiment, ms, masks));
    return experiment.check().verdict();
}

int run(int argc, char** argv) {
    return run_placed<Settings>("contention", kDescription, argc, argv, measure);
}

}  // namespace
}  // namespace pinstudy::contention

int main(int argc, char** argv) {
    return pinstudy::run_program("contention", pinstudy::contention::run, argc, argv);
}
