// Which experiments there are: every work alone on each CPU that is used, then side by side.
#pragma once

#include <string>
#include <vector>

#include "apps/common/node_placements.hpp"
#include "apps/smt/experiment.hpp"
#include "apps/smt/settings.hpp"

namespace pinstudy::smt {

struct Planned {
    std::string name;
    Cpus cpus;  // none: as the threads were started
    Works works;
};

// The works of so many threads by the word of the command line: accumulate, sin, or mixed.
Works works_of(const std::string& word, std::int64_t threads);

// The words that are asked for.
std::vector<std::string> words_of(const Settings& settings);

// The name of a work alone: of thread 0 as it was started (-1), or on a CPU.
std::string name_alone(Work work, int cpu);

// Ordered so that experiments of one placement follow each other, because they share their arrays.
std::vector<Planned> plan(const Settings& settings, const NodePlacements& node);

}  // namespace pinstudy::smt
