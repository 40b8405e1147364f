// The pairs' atomics in memory, what the threads do to them, and the rounds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/common/placement.hpp"

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

// integer: fetch-adds; real: a float's load, addition and store.
enum class Operation { integer, real };

// How often 1 can be added to a float without rounding: 2^24 is the first whole number whose
// successor is no float.
inline constexpr std::int64_t kMostAdditions = std::int64_t{1} << 24;

// Looks at a pair's sum after each round. With n additions a thread, two threads:
//
// Integer: the sum is 2n, because no fetch-add is lost.
// Float: each store is one more than a value that was there, so that k stores make at most k, and
// the sum is at most 2n. The last store of all is the last one of its thread; what it adds to was
// read at or after that thread's store before, which was at least 1: the sum is at least 2 (n = 1:
// 1). Both ends can happen. No value is rounded, so the sum is whole. How far it is below 2n is
// the number of lost updates.
class Check {
  public:
    Check(Operation operation, std::int64_t times) : operation_(operation), times_(times) {}

    void look(double sum);

    // Share of all additions that the sums lack.
    double lost_share() const;

    // Sums seen so far.
    std::int64_t sums() const { return sums_; }

    // Passed when every sum can be; failed when there is none.
    Verdict verdict() const;

  private:
    double lowest() const;
    double highest() const { return 2.0 * static_cast<double>(times_); }

    Operation operation_;
    std::int64_t times_;
    std::int64_t sums_ = 0;
    std::int64_t wrong_ = 0;
    double first_wrong_ = 0;
    double total_ = 0;
};

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
