// The pairs' atomics in memory, what the threads do to them, and the rounds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/common/placement.hpp"
#include "apps/contention/check.hpp"

namespace pinstudy::contention {

// Distances in bytes. 128: no two atomics in one line of 64 bytes, nor in two neighbouring lines,
// which the adjacent-line prefetcher of many x86 processors fetches together; nor in one line of
// 128 bytes, which some arm64 processors have. 64: neighbouring lines. 4: all in one line (false
// sharing).
inline constexpr std::int64_t kApart = 128;
inline constexpr std::int64_t kNeighbours = 64;
inline constexpr std::int64_t kSameLine = 4;

// So many atomics fit into one line.
inline constexpr std::int64_t kMostInALine = kNeighbours / kSameLine;

// One atomic a pair, `spacing` bytes apart; the first one begins a page.
class Slots {
  public:
    Slots(std::size_t pairs, std::int64_t spacing)
        : spacing_(static_cast<std::size_t>(spacing)),
          pages_(pairs * spacing_ / sizeof(Page) + 1) {}

    template <typename Number>
    std::atomic<Number>& at(std::size_t pair) {
        using Atomic = std::atomic<Number>;
        static_assert(sizeof(Atomic) == kSameLine && Atomic::is_always_lock_free);
        return *reinterpret_cast<Atomic*>(pages_.front().bytes + pair * spacing_);
    }

  private:
    struct alignas(4096) Page {
        std::byte bytes[4096];
    };

    std::size_t spacing_;
    std::vector<Page> pages_;
};

// Adds 1 so many times, each time by one atomic read-modify-write (fetch-add): nothing is lost.
void add(std::atomic<std::int32_t>& sum, std::int64_t times) noexcept;

// Adds 1 so many times, each time by an atomic load, an addition and an atomic store: what another
// thread stores between the two is lost.
void add(std::atomic<float>& sum, std::int64_t times) noexcept;

class Experiment {
  public:
    // Threads add so many times a round. The team must outlive this.
    Experiment(Team& team, Operation operation, std::int64_t additions, std::int64_t spacing);

    // A round, the first one after another that warms up. Returns the milliseconds until the last
    // thread had finished.
    double round();

    const Check& check() const { return check_; }
    const SeenCpus& seen() const { return seen_; }

  private:
    const std::vector<Turn>& one_round();
    template <typename Number>
    const std::vector<Turn>& one_round_of();

    Team& team_;
    Operation operation_;
    std::int64_t additions_;
    Slots slots_;
    Check check_;
    SeenCpus seen_;
};

}  // namespace pinstudy::contention
