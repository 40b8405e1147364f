// The measured pairs and runs, and their order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy::pingpong {

// Two CPUs, never the same one.
struct CpuPair {
    int first = 0;
    int second = 0;

    bool operator==(const CpuPair&) const = default;
};

// One run of a pair: whether the thread on the first CPU begins, which of the pair's line addresses
// it is, and the place of the line in its page.
struct RunPlan {
    bool first_begins = true;
    int address = 0;
    int slot = 0;
};

struct PairPlan {
    CpuPair cpus;
    std::vector<RunPlan> runs;
};

// The pairs of a list such as "0:1,0:2"; commas, blanks and line ends separate them. Throws
// std::invalid_argument, whose text names the mistake, for anything else, an empty list, a CPU
// with itself and a pair that stands twice (in either order).
std::vector<CpuPair> parse_pairs(std::string_view text);

// Every two of these CPUs, the lower number first.
std::vector<CpuPair> all_pairs(const Cpus& cpus);

// Both directions and so many addresses of each pair. Pairs, and the runs of each, are in an order
// that the seed shuffles, so that what changes slowly falls on all alike; slots are drawn as well.
std::vector<PairPlan> shuffled(std::vector<CpuPair> pairs, int addresses, std::uint64_t seed);

}  // namespace pinstudy::pingpong
