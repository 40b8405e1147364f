// One pair of CPUs: two threads pinned there, and somebody who notices when they do not get on.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "apps/common/affinity.hpp"
#include "apps/pingpong/match.hpp"
#include "apps/pingpong/order.hpp"
#include "apps/pingpong/sampling.hpp"

namespace pinstudy::pingpong {

// The runs of a pair in its plan's order, or why it has none: a pair whose threads were not where
// they should be is left out as a whole, and so is one that failed its check.
struct PairResult {
    CpuPair cpus;
    std::vector<RunPlan> plan;
    std::vector<PlayedRun> runs;
    std::string left_out;
    bool check_failed = false;
};

// Measures a pair of `home`, the CPUs that the process may use. Threads that are kept from their
// CPUs for longer than the patience are let go to all of them.
PairResult measure_pair(const PairPlan& plan, const Sampling& sampling, const Cpus& home,
                        std::chrono::milliseconds patience = Pairing::kPatience);

// All samples of a pair's runs.
Samples all_samples(const PairResult& result);

}  // namespace pinstudy::pingpong
