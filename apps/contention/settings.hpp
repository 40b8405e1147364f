// What the command line asks for.
#pragma once

#include <cstdint>
#include <string>

#include "apps/common/assigned_cpus.hpp"
#include "apps/common/options.hpp"
#include "apps/contention/check.hpp"
#include "apps/contention/slots.hpp"

namespace pinstudy::contention {

// As published: fetch-adds of an integer, and loads, additions and stores of a float, a thread and
// round.
inline constexpr std::int64_t kIntegerTimes = 100000;
inline constexpr std::int64_t kFloatTimes = 262144;

struct Settings {
    std::string word = "integer";
    std::int64_t threads = 4;
    std::int64_t rounds = 100;
    std::int64_t times = 0;  // 0: as published
    std::int64_t spacing = kApart;
    bool same_line = false;
    AssignedCpus assigned;

    Operation operation() const;
    std::int64_t additions() const;  // of a thread and round
    std::int64_t distance() const { return same_line ? kSameLine : spacing; }
    std::size_t pairs() const { return static_cast<std::size_t>(threads / 2); }
};

// "integer" or "float".
std::string name_of(Operation operation);

// Adds the program's options; what they are given is kept in `settings`.
void add_options(Options& options, Settings& settings);

// Why these settings cannot be together, or an empty text.
std::string why_not(const Settings& settings);

}  // namespace pinstudy::contention
