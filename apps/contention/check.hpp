// Are the sums what the threads of a pair can have made of them?
#pragma once

#include <cstdint>

#include "apps/common/program.hpp"

namespace pinstudy::contention {

// integer: fetch-adds; real: a float's load, addition and store.
enum class Operation { integer, real };

// How often 1 can be added to a float without rounding: 2^24 is the first whole number whose
// successor is no float.
inline constexpr std::int64_t kMostAdditions = std::int64_t{1} << 24;

// Looks at a pair's sum after each round. With n additions a thread, two threads:
//
// Integer: the sum is 2n, because no fetch-add is lost.
// Float: each store is one more than a value that was there, so that k stores make at most k, and
// the sum is at most 2n. The last store of all is the last one of its thread; what it adds to was
// read at or after that thread's store before, which was at least 1: the sum is at least 2 (n = 1:
// 1). Both ends can happen. No value is rounded, so the sum is whole. How far below 2n it is says
// how many updates were lost.
class Check {
  public:
    Check(Operation operation, std::int64_t times) : operation_(operation), times_(times) {}

    void look(double sum);

    // Share of all additions that the sums lack.
    double lost_share() const;

    // Sums seen so far.
    std::int64_t sums() const { return sums_; }

    // Passed when every sum can be; failed when there is none.
    Verdict verdict() const;

  private:
    double lowest() const;
    double highest() const { return 2.0 * static_cast<double>(times_); }

    Operation operation_;
    std::int64_t times_;
    std::int64_t sums_ = 0;
    std::int64_t wrong_ = 0;
    double first_wrong_ = 0;
    double total_ = 0;
};

}  // namespace pinstudy::contention
