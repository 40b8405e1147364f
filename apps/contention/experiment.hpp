// One placement and operation: its rounds, and all that was seen in them.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "apps/common/placed_team.hpp"
#include "apps/common/timing.hpp"
#include "apps/contention/check.hpp"
#include "apps/contention/settings.hpp"
#include "apps/contention/slots.hpp"

namespace pinstudy::contention {

class Experiment {
  public:
    // `cpus` is where the threads are to be pinned, thread by thread; empty: as they were started.
    // The team must outlive this.
    Experiment(PlacedTeam& team, const Settings& settings, Operation operation,
               std::string placement, Cpus cpus);

    // Thread 0: a round, after one that warms up where the threads have just been put.
    Sample round();

    const std::string& placement() const { return placement_; }
    Operation operation() const { return operation_; }
    const Cpus& cpus() const { return cpus_; }
    std::string name() const { return name_of(operation_) + "/" + placement_; }

    const Check& check() const { return check_; }
    const std::vector<Track>& tracks() const { return tracks_; }

    // Why there were no more rounds, or an empty text.
    const std::string& failure() const { return failure_; }

  private:
    const std::vector<Turn>& one_round();

    PlacedTeam& team_;
    Operation operation_;
    std::int64_t times_;
    std::string placement_;
    Cpus cpus_;
    std::variant<Slots<std::int32_t>, Slots<float>> slots_;
    Check check_;
    std::vector<Track> tracks_;
    std::string failure_;
};

}  // namespace pinstudy::contention
