// What the command line asks for.
#pragma once

#include <cstdint>
#include <string>

#include "apps/common/assigned_cpus.hpp"
#include "apps/common/options.hpp"

namespace pinstudy::smt {

struct Settings {
    std::string work = "accumulate";
    std::int64_t threads = 2;
    std::int64_t items = 100000000;  // as published
    std::int64_t rounds = 5;
    AssignedCpus assigned;
};

// Adds the program's options; what they are given is kept in `settings`.
void add_options(Options& options, Settings& settings);

// Why these settings cannot be together, or cannot be on this node, or an empty text.
std::string why_not(const Settings& settings);

}  // namespace pinstudy::smt
