// One placement and the works of its threads: the rounds, and all that was seen in them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/placed_team.hpp"
#include "apps/common/timing.hpp"
#include "apps/smt/check.hpp"
#include "apps/smt/items.hpp"
#include "apps/smt/work.hpp"

namespace pinstudy::smt {

// Nothing for a thread that sleeps.
using Works = std::vector<std::optional<Work>>;

// The team and the threads' arrays, which experiments of the same placement share.
class Workshop {
  public:
    Workshop(PlacedTeam& team, std::int64_t items);

    PlacedTeam& team() { return team_; }
    Check& check() { return check_; }
    std::int64_t items() const { return count_; }

    // Puts the threads on these CPUs (none: as they were started), and has each that works make its
    // array there. Returns why that cannot be, or an empty text.
    std::string furnish(const Cpus& cpus, const Works& works);

    // A round. Each thread works through its array once, for which it is timed; then it goes on
    // with the same work until all have been timed, so that everyone is disturbed as much all the
    // time. Returns the seconds of each thread, 0 for those that sleep.
    std::vector<double> round(const Works& works, std::vector<Track>& tracks);

  private:
    // A thread's own, in lines of its own.
    struct alignas(128) Bench {
        std::unique_ptr<Items> items;
        double seconds = 0;
        float sum = 0;
        float beside = 0;  // what came out after the timing; kept so that it is computed
    };

    void work_through(Bench& bench, Work work);

    PlacedTeam& team_;
    std::int64_t count_;
    Check check_;
    std::optional<Cpus> furnished_;
    std::vector<Bench> benches_;
    alignas(128) std::atomic<int> untimed_{0};
};

class Experiment {
  public:
    // The workshop must outlive this.
    Experiment(Workshop& workshop, std::string name, Cpus cpus, Works works);

    // Thread 0: a round. Its time is that of the slowest thread; quantities are thread_ms, the mean
    // over the threads, items_per_s of such a thread, and thread0_ms and so on.
    Sample round();

    const std::string& name() const { return name_; }
    const Cpus& cpus() const { return cpus_; }
    const Works& works() const { return works_; }
    const std::vector<Track>& tracks() const { return tracks_; }

    // Why there were no more rounds, or an empty text.
    const std::string& failure() const { return failure_; }

  private:
    Workshop& workshop_;
    std::string name_;
    Cpus cpus_;
    Works works_;
    std::vector<Track> tracks_;
    std::string failure_;
};

// The name of a thread's quantity: thread0_ms.
std::string quantity_of(std::size_t thread);

}  // namespace pinstudy::smt
