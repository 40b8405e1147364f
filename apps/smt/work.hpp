// What a thread does with its array of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace pinstudy::smt {

// accumulate: the sum of the items. Each addition waits for the one before; the units of the core
// are idle most of the time.
// sin: the sum of the items' sines. There is much to compute between two additions.
enum class Work { accumulate, sin };

std::string name_of(Work work);

// A sum is a float, added to in the order of the items.
float do_work(Work work, std::span<const float> items);

// Item number `index`: uniform in [-1, 1), a multiple of 2^-23, the same on every machine. The hash
// is the output function of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom
// number generators", 2014) with 1234567 for a seed.
float item(std::uint64_t index);

// An array of the first items. Every thread has one of its own, and makes it itself, so that its
// memory is near the CPU that it is on.
class Items {
  public:
    // Throws std::bad_alloc when there is no memory.
    explicit Items(std::size_t count);

    std::span<const float> all() const { return {items_.get(), count_}; }

  private:
    std::size_t count_;
    std::unique_ptr<float[]> items_;
};

}  // namespace pinstudy::smt
