// The hand-over of a cache line from one thread to another, in the ways that are measured.
#pragma once

#include <atomic>
#include <cstdint>

#include "apps/pingpong/pairing.hpp"

namespace pinstudy::pingpong {

// cas:   each thread tries to exchange the value that is its turn for the next one until that
//        succeeds; failed attempts take the line, too.
// store: each thread loads until it sees its turn, then stores the next one.
enum class Method { cas, store };

// A cache line. 128 bytes keep what lies beside it out of the pair of lines that some processors
// fetch together. The value counts the hand-overs; even ones are the beginning thread's turn.
struct alignas(128) Line {
    std::atomic<std::uint64_t> turn{0};
};

// Lines in a page of any size that Linux has.
inline constexpr int kSlots = 4096 / sizeof(Line);

// Takes so many turns, the first of which is `turn`; `turn` becomes the next one of this thread.
// Returns false when the waiting was ended before that. The beginning thread starts with turn 0,
// the answering one with 1; `thread` is this one in the pairing.
using Play = bool (*)(Line& line, std::uint64_t& turn, std::int64_t times, Pairing& pairing,
                      int thread);

// How to play by a method; with `pause` the thread executes the processor's spin hint.
Play play_of(Method method, bool pause);

}  // namespace pinstudy::pingpong
