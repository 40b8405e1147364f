// Is each thread's sum the one that adding in order gives?
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "apps/common/program.hpp"
#include "apps/smt/work.hpp"

namespace pinstudy::smt {

// What a thread must return for the first items, to the last bit. It is computed in another way:
// two floats are added as doubles and the sum is rounded, which gives the float nearest to the
// exact sum, because a double has more than twice a float's digits, and two (S. Figueroa, "When is
// double rounding innocuous?", 1995).
float expected(Work work, std::uint64_t items);

// Every array holds the same items, so every thread's sum is the same float, on every CPU and in
// every round. A compiler that had vectorised or reordered the sum would give another one.
class Check {
  public:
    void look(Work work, float sum) { ++sums_[work][sum]; }

    // Compares all sums with what the first `items` must give.
    Verdict verdict(std::uint64_t items) const;

  private:
    std::map<Work, std::map<float, std::int64_t>> sums_;
};

}  // namespace pinstudy::smt
