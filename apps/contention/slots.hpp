// The pairs' atomics in memory, at a chosen distance.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

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

// One atomic a pair, `spacing` bytes apart; the first one begins a line, and a pair of lines.
template <typename Number>
class Slots {
  public:
    using Atomic = std::atomic<Number>;
    static_assert(sizeof(Atomic) == kSameLine && Atomic::is_always_lock_free);

    Slots(std::size_t pairs, std::int64_t spacing)
        : pairs_(pairs), spacing_(static_cast<std::size_t>(spacing)), memory_(allocate()) {
        for (std::size_t pair = 0; pair < pairs; ++pair) {
            new (memory_.get() + pair * spacing_) Atomic(0);
        }
    }

    std::size_t size() const { return pairs_; }

    Atomic& operator[](std::size_t pair) {
        return *std::launder(reinterpret_cast<Atomic*>(memory_.get() + pair * spacing_));
    }

  private:
    static constexpr std::align_val_t kAlignment{4096};

    struct Free {
        void operator()(std::byte* memory) const { ::operator delete[](memory, kAlignment); }
    };

    std::byte* allocate() const {
        return static_cast<std::byte*>(::operator new[](pairs_* spacing_, kAlignment));
    }

    std::size_t pairs_;
    std::size_t spacing_;
    std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace pinstudy::contention
