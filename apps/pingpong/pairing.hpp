// The state that two threads share, besides the line that they hand back and forth.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace pinstudy::pingpong {

// Two threads, 0 and 1, that wait for each other by spinning. Neither waits for ever: one that has
// waited for longer than the patience gives the pairing up, which the other sees as well.
class Pairing {
  public:
    using Clock = std::chrono::steady_clock;

    // Longer than work of equal priority keeps a thread from its CPU.
    static constexpr std::chrono::milliseconds kPatience{5000};

    explicit Pairing(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}

    // Waits until the other thread has called this as often. False when the pairing is given up.
    bool meet(int thread);

    // Ends the other thread's waiting for its turn, until they go on.
    void stop() { stopped_.store(true, std::memory_order_release); }
    void go_on() { stopped_.store(false, std::memory_order_release); }

    // Ends all waiting, for good. The first reason counts.
    void give_up(const std::string& reason);
    bool given_up() const { return given_up_.load(std::memory_order_acquire); }
    std::string reason() const;

    // How often a thread that waited found the other one on its own CPU, and let it run.
    std::int64_t yields() const { return yields_.load(std::memory_order_relaxed); }

    // Grows while the threads make progress: at every meeting, and when one of them reports it.
    void progressed() { progress_.fetch_add(1, std::memory_order_relaxed); }
    std::int64_t progress() const {
        return progress_.load(std::memory_order_relaxed) +
               arrivals_.load(std::memory_order_relaxed);
    }

  private:
    friend class Wait;

    struct alignas(128) Seat {
        std::atomic<int> cpu{-1};
    };

    std::chrono::milliseconds patience_;
    std::array<Seat, 2> seats_;
    alignas(128) std::atomic<bool> stopped_{false};
    std::atomic<bool> given_up_{false};
    alignas(128) std::atomic<std::int64_t> arrivals_{0};
    std::atomic<std::int64_t> yields_{0};
    alignas(128) std::atomic<std::int64_t> progress_{0};
    mutable std::mutex mutex_;
    std::string reason_;
};

// What ends a thread's waiting before its time.
enum class Until { stop, given_up };

// One thread's waiting for one event. A hand-over takes a fraction of a microsecond; so a thread
// looks kLooks times, and only then checks whether to continue, at no cost to the measurement.
class Wait {
  public:
    static constexpr int kLooks = 1024;

    // On one CPU the other thread cannot hand over while this one looks.
    static constexpr int kLooksOnOneCpu = 2;

    Wait(Pairing& pairing, int thread) : pairing_(pairing), thread_(thread) {}

    // Whether to look again. Lets the other thread run when both are on one CPU.
    bool goes_on(Until until);

    // How often to look before asking again.
    int looks() const { return on_one_cpu_ ? kLooksOnOneCpu : kLooks; }

  private:
    Pairing& pairing_;
    int thread_;
    bool on_one_cpu_ = false;
    Pairing::Clock::time_point since_ = Pairing::Clock::now();
};

}  // namespace pinstudy::pingpong
