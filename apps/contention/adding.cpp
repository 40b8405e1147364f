#include "apps/contention/adding.hpp"

namespace pinstudy::contention {

// Relaxed order is enough for a count, and is what hardware of weak order does cheapest; on x86
// there is no cheaper and no dearer one.
void add(std::atomic<std::int32_t>& sum, std::int64_t times) noexcept {
    for (std::int64_t i = 0; i < times; ++i) {
        sum.fetch_add(1, std::memory_order_relaxed);
    }
}

void add(std::atomic<float>& sum, std::int64_t times) noexcept {
    for (std::int64_t i = 0; i < times; ++i) {
        const float next = sum.load(std::memory_order_relaxed) + 1.0F;
        sum.store(next, std::memory_order_relaxed);
    }
}

}  // namespace pinstudy::contention
