// Results as JSON, one object a line, for a program that reads them while others are measured.
#pragma once

#include <string>

#include "apps/pingpong/measure_pair.hpp"
#include "apps/pingpong/settings.hpp"

namespace pinstudy::pingpong {

// The first line: the settings, how many pairs there will be, and what reading the clock costs.
std::string header_line(const Settings& settings, std::size_t pairs, double clock_ns);

// The line of a pair: its runs in the order in which they were made, or the reason why it has none.
std::string pair_line(const PairResult& result);

// The last line: how many pairs have runs, how many were left out, and how long all has taken.
std::string end_line(std::size_t measured, std::size_t left_out, double elapsed_s);

}  // namespace pinstudy::pingpong
