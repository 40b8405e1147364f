// Threads that do one thing together, or rounds of it side by side.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

namespace pinstudy {

// Runs body(i) for i = 0 .. threads - 1, each in a thread of its own and all at once: OpenMP's in
// the builds that have OpenMP, else the C++ library's, so that launchers that place threads can
// be compared. Thread 0 is the calling one, as in OpenMP and as likwid-pin counts. `body` must
// not throw. Throws std::runtime_error, before any body has done its work, when fewer threads can
// be had.
void run_team(int threads, const std::function<void(int thread)>& body);

// A thread's part in a round: seconds from the release, which is the same moment for all threads,
// until its work was done, and the CPUs that it was on right after the release and at the end (-1
// if the kernel does not report it).
struct Turn {
    double seconds = 0;
    int first_cpu = -1;
    int last_cpu = -1;
};

// Threads that stay between rounds, asleep, so that neither their creation nor their waking up is
// timed, and those that have finished leave their CPU to others. Woken up for a round, each spins
// until all have come, and lets others run now and then, because some may share its CPU.
class Team {
  public:
    // Does the work of one thread; must not throw.
    using Work = std::function<void(int thread)>;

    // Forms a team of so many threads and has its thread 0, the calling one, lead it: returns what
    // lead(team) returns, or throws what it throws. Throws std::runtime_error when fewer threads
    // can be had.
    static int lead(int threads, const std::function<int(Team&)>& lead);

    int threads() const { return threads_; }

    // For the leader: has every thread, the calling one included, do the work; returns their turns
    // when all have finished.
    const std::vector<Turn>& round(const Work& work);

    // For a thread at work: seconds since the release.
    double since_release() const;

  private:
    using Clock = std::chrono::steady_clock;

    explicit Team(int threads) : threads_(threads), turns_(static_cast<std::size_t>(threads)) {}

    void call(int round);
    void follow(int thread);
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
