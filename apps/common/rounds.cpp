#include "apps/common/rounds.hpp"

#include <sched.h>

#include "apps/common/affinity.hpp"

namespace pinstudy {
namespace {

// Some microseconds: the others come within that unless they share the CPU.
constexpr int kLooks = 4096;

}  // namespace

Rounds::Rounds(int threads) : threads_(threads), turns_(static_cast<std::size_t>(threads)) {}

const std::vector<Turn>& Rounds::round(const Work& work) {
    work_ = &work;
    at_work_.store(threads_, std::memory_order_relaxed);
    const int round = called_.load(std::memory_order_relaxed) + 1;
    called_.store(round, std::memory_order_release);
    called_.notify_all();
    take_turn(0, round);
    for (int left = at_work_.load(std::memory_order_acquire); left != 0;
         left = at_work_.load(std::memory_order_acquire)) {
        at_work_.wait(left, std::memory_order_acquire);
    }
    return turns_;
}

void Rounds::follow(int thread) {
    for (int round = 0;;) {
        called_.wait(round, std::memory_order_acquire);
        round = called_.load(std::memory_order_acquire);
        if (round < 0) {
            return;
        }
        take_turn(thread, round);
    }
}

void Rounds::dismiss() {
    called_.store(-1, std::memory_order_release);
    called_.notify_all();
}

double Rounds::since_release() const {
    return std::chrono::duration<double>(Clock::now() - released_).count();
}

void Rounds::take_turn(int thread, int round) {
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
        arrived_.store(0, std::memory_order_relaxed);
        released_ = Clock::now();
        open_.store(round, std::memory_order_release);
    } else {
        for (int looks = 1; open_.load(std::memory_order_acquire) != round; ++looks) {
            if (looks % kLooks == 0) {
                sched_yield();
            }
        }
    }
    Turn& turn = turns_[static_cast<std::size_t>(thread)];
    const int first_cpu = current_cpu();
    (*work_)(thread);
    turn = {since_release(), first_cpu, current_cpu()};
    if (at_work_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        at_work_.notify_one();
    }
}

}  // namespace pinstudy
