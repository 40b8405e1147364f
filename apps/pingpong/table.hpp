// Results as text for a person.
#pragma once

#include <string>
#include <vector>

#include "apps/pingpong/measure_pair.hpp"

namespace pinstudy::pingpong {

// The matrix of the pairs' medians with their spread, the nearest and the farthest pair, the rate
// over all samples, and what was left out. Lower CPU numbers are columns.
std::string table(const std::vector<PairResult>& results, const std::string& method);

// The transfers per second that go with samples of one-way nanoseconds: the harmonic mean, and the
// 95 % interval that the times' has. `high` is infinite when the times' interval reaches zero.
struct Rate {
    double mean = 0.0;
    Interval interval;
};
Rate rate_per_s(const Samples& one_way_ns);

}  // namespace pinstudy::pingpong
