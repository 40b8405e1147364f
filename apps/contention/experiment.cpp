#include "apps/contention/experiment.hpp"

#include <algorithm>

#include "apps/contention/adding.hpp"

namespace pinstudy::contention {
namespace {

std::variant<Slots<std::int32_t>, Slots<float>> make_slots(const Settings& settings) {
    if (settings.operation() == Operation::integer) {
        return Slots<std::int32_t>(settings.pairs(), settings.distance());
    }
    return Slots<float>(settings.pairs(), settings.distance());
}

}  // namespace

Experiment::Experiment(PlacedTeam& team, const Settings& settings)
    : team_(team),
      additions_(settings.additions()),
      slots_(make_slots(settings)),
      check_(settings.operation(), additions_),
      tracks_(static_cast<std::size_t>(team.threads())) {}

double Experiment::round() {
    if (check_.sums() == 0) {
        one_round();
    }
    const std::vector<Turn>& turns = one_round();
    follow(tracks_, turns);
    double seconds = 0;
    for (const Turn& turn : turns) {
        seconds = std::max(seconds, turn.seconds);
    }
    return 1e3 * seconds;
}

const std::vector<Turn>& Experiment::one_round() {
    return std::visit(
        [this](auto& slots) -> const std::vector<Turn>& {
            for (std::size_t pair = 0; pair < slots.size(); ++pair) {
                slots[pair].store(0, std::memory_order_relaxed);
            }
            const std::vector<Turn>& turns = team_.round([&slots, this](int thread) {
                add(slots[static_cast<std::size_t>(thread) / 2], additions_);
            });
            for (std::size_t pair = 0; pair < slots.size(); ++pair) {
                check_.look(static_cast<double>(slots[pair].load(std::memory_order_relaxed)));
            }
            return turns;
        },
        slots_);
}

}  // namespace pinstudy::contention
