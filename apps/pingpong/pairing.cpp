#include "apps/pingpong/pairing.hpp"

#include <thread>

#include "apps/common/affinity.hpp"

namespace pinstudy::pingpong {

bool Pairing::meet(int thread) {
    seats_[static_cast<std::size_t>(thread)].cpu.store(current_cpu(), std::memory_order_relaxed);
    const std::int64_t before = arrivals_.fetch_add(1, std::memory_order_acq_rel);
    const std::int64_t both = before - before % 2 + 2;
    const auto met = [&] { return arrivals_.load(std::memory_order_acquire) >= both; };
    Wait wait(*this, thread);
    do {
        for (int look = 0; look < wait.looks(); ++look) {
            if (met()) {
                return !given_up();
            }
        }
    } while (wait.goes_on(Until::given_up));
    return false;
}

void Pairing::give_up(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (reason_.empty()) {
        reason_ = reason;
    }
    given_up_.store(true, std::memory_order_release);
}

std::string Pairing::reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
}

bool Wait::goes_on(Until until) {
    if (pairing_.given_up() ||
        (until == Until::stop && pairing_.stopped_.load(std::memory_order_acquire))) {
        return false;
    }
    if (Pairing::Clock::now() - since_ > pairing_.patience_) {
        pairing_.give_up("the other thread did not answer for " +
                         std::to_string(pairing_.patience_.count()) +
                         " ms; something keeps it from its CPU");
        return false;
    }
    const int here = current_cpu();
    pairing_.seats_[static_cast<std::size_t>(thread_)].cpu.store(here, std::memory_order_relaxed);
    const auto& other = pairing_.seats_[static_cast<std::size_t>(1 - thread_)];
    on_one_cpu_ = other.cpu.load(std::memory_order_relaxed) == here;
    if (on_one_cpu_) {
        pairing_.yields_.fetch_add(1, std::memory_order_relaxed);
        std::this_thread::yield();
    }
    return true;
}

}  // namespace pinstudy::pingpong
