// The runs of one pair of threads, one run after the other.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/pingpong/order.hpp"
#include "apps/pingpong/sampling.hpp"

namespace pinstudy::pingpong {

// A run, what disturbed it (how often one of the threads was switched out against its will), and
// how many turns the thread that did not begin has taken.
struct PlayedRun {
    Run run;
    std::int64_t switches = 0;
    std::uint64_t answers = 0;
};

// What both threads and the line counted, if they do not agree; empty when they do.
std::string wrong_count(const std::vector<PlayedRun>& runs);

// Two threads that play the runs of a plan, in its order. Each calls play() with its number; the
// memory of a run's line is taken and first touched by the thread that begins it.
class Match {
  public:
    Match(const std::vector<RunPlan>& plan, const Sampling& sampling,
          std::chrono::milliseconds patience = Pairing::kPatience);

    // Must be called by both threads, which are where they shall be; must not throw. Returns early
    // when the pairing is given up, which anything that goes wrong does.
    void play(int thread) noexcept;

    Pairing& pairing() { return pairing_; }

    // The runs in the plan's order; to be asked for when both threads have returned.
    std::vector<PlayedRun> runs() const;

  private:
    void play_all(int thread);

    const std::vector<RunPlan>& plan_;
    const Sampling& sampling_;
    Pairing pairing_;
    Line* line_ = nullptr;
    std::vector<PlayedRun> runs_;
    std::array<std::vector<std::int64_t>, 2> switches_;
};

}  // namespace pinstudy::pingpong
