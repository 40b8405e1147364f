#include "apps/pingpong/measure_pair.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace pinstudy::pingpong {
namespace {

// The two threads of a match, of which the caller waits for the end without using a CPU.
class PinnedThreads {
  public:
    PinnedThreads(Match& match, const CpuPair& cpus)
        : match_(match),
          threads_{std::jthread([this, cpu = cpus.first] { run(0, cpu); }),
                   std::jthread([this, cpu = cpus.second] { run(1, cpu); })} {}

    // Whether both threads end within a time.
    bool ends_within(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex_);
        return end_.wait_for(lock, time, [this] { return running_ == 0; });
    }

    // Lets the threads run on other CPUs than their own.
    void let_go(const Cpus& home) {
        for (const std::atomic<int>& number : numbers_) {
            try {
                if (number.load() != 0) {
                    allow_thread(number.load(), home);
                }
            } catch (const std::system_error&) {
                // The thread has just ended.
            }
        }
    }

  private:
    void run(int thread, int cpu) {
        std::string wrong = pin_this_thread(cpu);
        numbers_[static_cast<std::size_t>(thread)].store(gettid());
        if (!wrong.empty()) {
            match_.pairing().give_up("a thread cannot be pinned to CPU " + std::to_string(cpu) +
                                     ": " + wrong);
        }
        match_.play(thread);
        check_place(cpu);
        const std::lock_guard lock(mutex_);
        --running_;
        end_.notify_one();
    }

    void check_place(int cpu) {
        // A CPU that went offline has lost its threads to others.
        if (match_.pairing().given_up()) {
            return;
        }
        if (const int now = current_cpu(); now != cpu || allowed_cpus() != Cpus{cpu}) {
            match_.pairing().give_up("the thread of CPU " + std::to_string(cpu) + " was on CPU " +
                                     std::to_string(now) + " at the end");
        }
    }

    Match& match_;
    std::array<std::atomic<int>, 2> numbers_{0, 0};
    std::mutex mutex_;
    std::condition_variable end_;
    int running_ = 2;
    std::array<std::jthread, 2> threads_;
};

// Why a pair is not even tried. The kernel would pin to CPUs that taskset has withheld, but who
// withheld them meant it.
std::string not_allowed(const CpuPair& cpus, const Cpus& home) {
    for (const int cpu : {cpus.first, cpus.second}) {
        if (std::find(home.begin(), home.end(), cpu) == home.end()) {
            return "CPU " + std::to_string(cpu) + " is none of those that the process may use (" +
                   format_cpus(home) + ")";
        }
    }
    return "";
}

}  // namespace

PairResult measure_pair(const PairPlan& plan, const Sampling& sampling, const Cpus& home,
                        std::chrono::milliseconds patience) {
    if (const std::string why = not_allowed(plan.cpus, home); !why.empty()) {
        return {plan.cpus, plan.runs, {}, why, false};
    }
    Match match(plan.runs, sampling, patience);
    {
        PinnedThreads threads(match, plan.cpus);
        // A thread that runs notices by itself when the other one does not. When neither can run,
        // nothing moves.
        for (std::int64_t before = -1; !threads.ends_within(patience);) {
            const std::int64_t now = match.pairing().progress();
            if (now == before) {
                match.pairing().give_up(
                    "neither thread could run; something keeps them from their CPUs");
            }
            if (match.pairing().given_up()) {
                threads.let_go(home);
            }
            before = now;
        }
    }
    PairResult result{plan.cpus, plan.runs, {}, match.pairing().reason(), false};
    if (!match.pairing().given_up()) {
        result.runs = match.runs();
        result.left_out = wrong_count(result.runs);
        result.check_failed = !result.left_out.empty();
    }
    return result;
}

Samples all_samples(const PairResult& result) {
    Samples samples;
    for (const PlayedRun& played : result.runs) {
        samples.insert(samples.end(), played.run.one_way_ns.begin(), played.run.one_way_ns.end());
    }
    return samples;
}

}  // namespace pinstudy::pingpong
