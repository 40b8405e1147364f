// A walk through memory in an order that no processor guesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pinstudy::yardstick {

class Chase {
  public:
    // Bytes between two places: processors also fetch the line beside the one that was missed.
    static constexpr std::size_t kSpacing = 256;

    // Places in so many bytes, at least two, in one random circle.
    explicit Chase(std::size_t bytes);

    std::size_t places() const { return next_.size() / kStride; }

    // Goes so many steps, each of which waits for the one before it; returns where it is then.
    std::uint64_t walk(std::int64_t steps) const;

  private:
    static constexpr std::size_t kStride = kSpacing / sizeof(std::uint64_t);

    std::vector<std::uint64_t> next_;
};

}  // namespace pinstudy::yardstick
