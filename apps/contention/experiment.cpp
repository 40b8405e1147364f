#include "apps/contention/experiment.hpp"

#include <algorithm>
#include <utility>

#include "apps/contention/adding.hpp"

namespace pinstudy::contention {
namespace {

std::variant<Slots<std::int32_t>, Slots<float>> make_slots(Operation operation,
                                                           const Settings& settings) {
    if (operation == Operation::integer) {
        return Slots<std::int32_t>(settings.pairs(), settings.distance());
    }
    return Slots<float>(settings.pairs(), settings.distance());
}

}  // namespace

Experiment::Experiment(PlacedTeam& team, const Settings& settings, Operation operation,
                       std::string placement, Cpus cpus)
    : team_(team),
      operation_(operation),
      times_(settings.times_of(operation)),
      placement_(std::move(placement)),
      cpus_(std::move(cpus)),
      slots_(make_slots(operation, settings)),
      check_(operation, times_),
      tracks_(static_cast<std::size_t>(settings.threads)) {}

Sample Experiment::round() {
    if (failure_.empty()) {
        failure_ = team_.put(cpus_);
    }
    Sample sample;
    sample.failure = failure_;
    if (!failure_.empty()) {
        return sample;
    }
    if (check_.sums() == 0) {
        one_round();
    }
    const std::vector<Turn>& turns = one_round();
    follow(tracks_, turns);
    for (const Turn& turn : turns) {
        sample.seconds = std::max(sample.seconds, turn.seconds);
    }
    const auto operations = static_cast<double>(times_) * team_.threads();
    sample.quantities["ns_per_operation"] = sample.seconds * 1e9 / operations;
    return sample;
}

const std::vector<Turn>& Experiment::one_round() {
    return std::visit(
        [this](auto& slots) -> const std::vector<Turn>& {
            for (std::size_t pair = 0; pair < slots.size(); ++pair) {
                slots[pair].store(0, std::memory_order_relaxed);
            }
            const std::vector<Turn>& turns = team_.round([&slots, this](int thread) {
                add(slots[static_cast<std::size_t>(thread) / 2], times_);
            });
            for (std::size_t pair = 0; pair < slots.size(); ++pair) {
                check_.look(static_cast<double>(slots[pair].load(std::memory_order_relaxed)));
            }
            return turns;
        },
        slots_);
}

}  // namespace pinstudy::contention
