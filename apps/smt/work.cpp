#include "apps/smt/work.hpp"

#include <cmath>

namespace pinstudy::smt {
namespace {

float accumulate(std::span<const float> items) {
    float sum = 0;
    for (const float item : items) {
        sum += item;
    }
    return sum;
}

float sum_of_sines(std::span<const float> items) {
    float sum = 0;
    for (const float item : items) {
        sum += std::sin(item);
    }
    return sum;
}

std::uint64_t hash(std::uint64_t index) {
    constexpr std::uint64_t kSeed = 1234567;
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  // 2^64 divided by the golden ratio
    std::uint64_t z = kSeed + (index + 1) * kGolden;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

}  // namespace

std::string name_of(Work work) {
    return work == Work::accumulate ? "accumulate" : "sin";
}

float do_work(Work work, std::span<const float> items) {
    return work == Work::accumulate ? accumulate(items) : sum_of_sines(items);
}

float item(std::uint64_t index) {
    // 24 bits, as many as a float holds.
    const auto step = static_cast<std::int32_t>(hash(index) >> 40) - (std::int32_t{1} << 23);
    return static_cast<float>(step) * 0x1p-23F;
}

// Not value-initialised: the loop is to be the first that touches the memory.
Items::Items(std::size_t count) : count_(count), items_(new float[count]) {
    for (std::size_t i = 0; i < count; ++i) {
        items_[i] = item(i);
    }
}

}  // namespace pinstudy::smt
