// Results as text for a person, and as JSON, one object a line, for a program that reads them while
// others are measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/pingpong/match.hpp"

namespace pinstudy::pingpong {

// The settings of a measurement. `pause`: the threads execute the processor's spin hint.
// `addresses` are the lines of a direction.
struct Settings {
    std::string method = "cas";
    bool pause = false;
    std::int64_t addresses = 2;
    std::int64_t seed = 1;
    Sampling sampling;
};

// The matrix of the pairs' medians with their spread, the nearest and the farthest pair, the rate
// over all samples, and the pairs left out. Lower CPU numbers are columns.
std::string table(const std::vector<PairResult>& results, const std::string& method);

// The transfers per second that go with samples of one-way nanoseconds: the harmonic mean, and the
// 95 % interval that the times' has. `high` is infinite when the times' interval reaches zero.
struct Rate {
    double mean = 0.0;
    Interval interval;
};
Rate rate_per_s(const Samples& one_way_ns);

// The first line of JSON: the settings, how many pairs there will be, and what reading the clock
// costs.
std::string header_line(const Settings& settings, std::size_t pairs, double clock_ns);

// The line of a pair: its runs in the order in which they were made, or the reason why it has none.
std::string pair_line(const PairResult& result);

// The last line: how many pairs have runs, how many were left out, and how long all has taken.
std::string end_line(std::size_t measured, std::size_t left_out, double elapsed_s);

}  // namespace pinstudy::pingpong
