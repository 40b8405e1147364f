#include "apps/yardstick/chase.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace pinstudy::yardstick {

Chase::Chase(std::size_t bytes) : next_(std::max<std::size_t>(2, bytes / kSpacing) * kStride) {
    std::vector<std::uint64_t> order(places());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    for (std::size_t i = 0; i < order.size(); ++i) {
        next_[order[i] * kStride] = order[(i + 1) % order.size()] * kStride;
    }
}

std::uint64_t Chase::walk(std::int64_t steps) const {
    std::uint64_t place = 0;
    for (std::int64_t i = 0; i < steps; ++i) {
        place = next_[place];
        asm volatile("" : "+r"(place));
    }
    return place;
}

}  // namespace pinstudy::yardstick
