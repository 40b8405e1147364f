// The rounds, and all that was seen in them.
#pragma once

#include <variant>
#include <vector>

#include "apps/common/placed_team.hpp"
#include "apps/contention/check.hpp"
#include "apps/contention/settings.hpp"
#include "apps/contention/slots.hpp"

namespace pinstudy::contention {

class Experiment {
  public:
    // The team must outlive this.
    Experiment(PlacedTeam& team, const Settings& settings);

    // Thread 0: a round, the first one after another that warms up. Returns the milliseconds until
    // the last thread had finished.
    double round();

    const Check& check() const { return check_; }
    const std::vector<Track>& tracks() const { return tracks_; }

  private:
    const std::vector<Turn>& one_round();

    PlacedTeam& team_;
    std::int64_t additions_;
    std::variant<Slots<std::int32_t>, Slots<float>> slots_;
    Check check_;
    std::vector<Track> tracks_;
};

}  // namespace pinstudy::contention
