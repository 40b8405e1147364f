// smt: what two threads of one core cost each other, when they wait and when they compute.
#include <vector>

#include "apps/common/placed_program.hpp"
#include "apps/common/program.hpp"
#include "apps/smt/experiment.hpp"
#include "apps/smt/report.hpp"
#include "apps/smt/settings.hpp"

namespace pinstudy::smt {
namespace {

constexpr const char* kDescription =
    "Measures how long threads take side by side, in one placement: where --pin puts them, or as "
    "they were started (left to the scheduler, or placed by whoever started the program). One work "
    "waits for its additions (accumulate), the other keeps the core's units busy (sin). With "
    "--threads 1 a thread is alone. To compare placements, run a study: pinstudy run affinity.";

Verdict measure(PlacedTeam& team, const Settings& settings) {
    const std::vector<Cpus> masks = team.masks();
    print_now(introduction(settings));
    Experiment experiment(team, settings.items, works_of(settings.work, settings.threads));
    Measured measured;
    for (std::int64_t i = 0; i < settings.rounds; ++i) {
        measured.add(experiment.round(), settings.items);
    }
    print_now(values(measured, experiment.tracks(), masks));
    return experiment.check().verdict(static_cast<std::uint64_t>(settings.items));
}

int run(int argc, char** argv) {
    return run_placed<Settings>("smt", kDescription, argc, argv, measure);
}

}  // namespace
}  // namespace pinstudy::smt

int main(int argc, char** argv) {
    return pinstudy::run_program("smt", pinstudy::smt::run, argc, argv);
}
