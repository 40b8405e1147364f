// What each thread does in a round: add 1 to its pair's atomic, many times.
#pragma once

#include <atomic>
#include <cstdint>

namespace pinstudy::contention {

// Adds 1 so many times, each time by one atomic read-modify-write (fetch-add): nothing is lost.
void add(std::atomic<std::int32_t>& sum, std::int64_t times) noexcept;

// Adds 1 so many times, each time by an atomic load, an addition and an atomic store: what another
// thread stores between the two is lost.
void add(std::atomic<float>& sum, std::int64_t times) noexcept;

}  // namespace pinstudy::contention
