// The runs of one pair of threads, one run after the other; and those of a pair of CPUs, with two
// threads pinned there.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/pingpong/order.hpp"
#include "apps/pingpong/sampling.hpp"

namespace pinstudy::pingpong {

// A run, what disturbed it (how often one of the threads was switched out against its will), and
// how many turns the thread that did not begin has taken.
struct PlayedRun {
    Run run;
    std::array<std::int64_t, 2> switches_of_thread{};
    std::uint64_t answers = 0;

    std::int64_t switches() const { return switches_of_thread[0] + switches_of_thread[1]; }
};

// What both threads and the line counted, if they do not agree; empty when they do.
std::string wrong_count(const std::vector<PlayedRun>& runs);

// Gives memory of its own page back to the kernel.
struct Unmap {
    void operator()(void* memory) const;
};
using Page = std::unique_ptr<void, Unmap>;

// Two threads that make the runs of a plan, in its order. Each calls play() with its number; the
// memory of a run's line is taken and first touched by the thread that begins it.
class Match {
  public:
    Match(const std::vector<RunPlan>& plan, const Sampling& sampling,
          std::chrono::milliseconds patience = Pairing::kPatience)
        : plan_(plan), sampling_(sampling), pairing_(patience), runs_(plan.size()) {}

    // Must be called by both threads, on their CPUs; must not throw. Returns early when the pairing
    // is given up, as after any error.
    void play(int thread) noexcept;

    Pairing& pairing() { return pairing_; }

    // The runs in the plan's order; valid when both threads have returned.
    const std::vector<PlayedRun>& runs() const { return runs_; }

    // The line of the run that was begun last; valid as long as the match, whoever has returned.
    const Line& line() const { return *line_; }

  private:
    void play_all(int thread);

    const std::vector<RunPlan>& plan_;
    const Sampling& sampling_;
    Pairing pairing_;
    Line* line_ = nullptr;
    // By thread. Kept to the end, so that no page serves two runs, and because a thread may still
    // look at the line of one that has given the pairing up.
    std::array<std::vector<Page>, 2> pages_;
    std::vector<PlayedRun> runs_;
};

// The runs of a pair in its plan's order, or why it has none: a pair whose threads were not where
// they should be is left out as a whole, and so is one that failed its check.
struct PairResult {
    CpuPair cpus;
    std::vector<RunPlan> plan;
    std::vector<PlayedRun> runs;
    std::string left_out;
    bool check_failed = false;
};

// Measures a pair of `home`, the CPUs that the process may use. Threads that cannot run on
// their CPUs for longer than the patience may then use all of them.
PairResult measure_pair(const PairPlan& plan, const Sampling& sampling, const Cpus& home,
                        std::chrono::milliseconds patience = Pairing::kPatience);

}  // namespace pinstudy::pingpong
