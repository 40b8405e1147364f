// Rounds of work that a team's threads do side by side: all released at once, each timed.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

namespace pinstudy {

// A thread's part in a round: seconds from the release, which is the same moment for all threads,
// until its work was done, and the CPUs that it was on right after the release and at the end (-1
// if the kernel does not say).
struct Turn {
    double seconds = 0;
    int first_cpu = -1;
    int last_cpu = -1;
};

// Threads stay between rounds, asleep, so that neither their creation nor their waking up is timed,
// and those that have finished leave their CPU to others. Woken up for a round, each spins until
// all have come, and lets others run now and then, because some may share its CPU.
class Rounds {
  public:
    // Does the work of one thread; must not throw.
    using Work = std::function<void(int thread)>;

    explicit Rounds(int threads);

    int threads() const { return threads_; }

    // For thread 0: has every thread, the calling one included, do the work, and returns when all
    // have, with their turns.
    const std::vector<Turn>& round(const Work& work);

    // For the other threads: takes part in the rounds until dismissed.
    void follow(int thread);

    // For thread 0: ends the others' following.
    void dismiss();

    // For a thread at work: seconds since the release.
    double since_release() const;

  private:
    using Clock = std::chrono::steady_clock;

    void take_turn(int thread, int round);

    int threads_;
    const Work* work_ = nullptr;
    std::vector<Turn> turns_;
    Clock::time_point released_;
    // Each changes while others are waited for, none while there is work; lines of their own.
    alignas(128) std::atomic<int> called_{0};   // the round that threads are called to; -1: none
    alignas(128) std::atomic<int> arrived_{0};  // threads at the gate
    alignas(128) std::atomic<int> open_{0};     // the last round whose gate was opened
    alignas(128) std::atomic<int> at_work_{0};  // threads that have not finished
};

}  // namespace pinstudy
