// A loop whose number of instructions and of dependent operations is known exactly.
#pragma once

#include <cstdint>

namespace pinstudy::yardstick {

// Additions in one turn of the loop, each of which waits for the one before it.
constexpr std::int64_t kAdditions = 100;
// Instructions in one turn: the additions, one that counts the turns down, and a branch.
constexpr std::int64_t kInstructions = kAdditions + 2;

// Whether the loop is written in this processor's instructions; else its length is not known.
bool loop_is_exact();

// Runs the loop so many times. The additions alone decide how many cycles it takes, and each takes
// the latency of an addition: one cycle on every processor that Linux runs on today.
void run_loop(std::int64_t turns);

}  // namespace pinstudy::yardstick
