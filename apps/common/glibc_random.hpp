// The random numbers of the GNU C library, with any C library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pinstudy {

// Yields the sequence that glibc's rand() and random() yield after srand(seed) or srandom(seed).
//
// It is the additive-feedback generator "TYPE_3": with r_0 = seed (0 counts as 1),
// r_i = 16807 r_(i-1) mod (2^31 - 1) for i = 1..30, r_i = r_(i-31) for i = 31..33 and
// r_i = r_(i-3) + r_(i-31) mod 2^32 from there on, the outputs are r_344, r_345, ..., each without
// its lowest bit. (P. Selinger, "The GLIBC random number generator", 2007.)
class GlibcRandom {
  public:
    explicit GlibcRandom(std::uint32_t seed) {
        constexpr std::int64_t kMultiplier = 16807;
        constexpr std::int64_t kModulus = 2147483647;
        // glibc computes with signed words, so that a seed from 2^31 on is a negative number.
        std::int64_t value = seed == 0 ? 1 : static_cast<std::int32_t>(seed);
        history_[0] = static_cast<std::uint32_t>(value);
        for (std::size_t i = 1; i < history_.size(); ++i) {
            value = kMultiplier * value % kModulus;
            if (value < 0) {
                value += kModulus;
            }
            history_[i] = static_cast<std::uint32_t>(value);
        }
        // After r_0..r_30 come r_31..r_33 = r_0..r_2: they are in place already, and the three
        // terms that follow them start at index 3 of the ring.
        newest_ = 2;
        constexpr int kDiscarded = 344 - 34;
        for (int i = 0; i < kDiscarded; ++i) {
            advance();
        }
    }

    // The next number, uniform in [0, 2^31 - 1].
    std::uint32_t next() { return advance() >> 1; }

  private:
    std::uint32_t advance() {
        const std::size_t size = history_.size();
        const std::size_t oldest = (newest_ + 1) % size;        // r_(i-31)
        const std::size_t third = (newest_ + size - 2) % size;  // r_(i-3)
        history_[oldest] += history_[third];
        newest_ = oldest;
        return history_[oldest];
    }

    std::array<std::uint32_t, 31> history_{};  // the last 31 terms, as a ring
    std::size_t newest_ = 0;
};

}  // namespace pinstudy
