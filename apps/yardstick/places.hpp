// A thread that changes its CPU on purpose.
#pragma once

#include <cstdint>

namespace pinstudy::yardstick {

// Pins the calling thread to a CPU. Throws std::runtime_error when the kernel does otherwise.
void go_to(int cpu);

// Goes to and fro between two CPUs; returns how often the kernel moved the thread.
std::int64_t move_to_and_fro(int first, int second, std::int64_t times);

}  // namespace pinstudy::yardstick
