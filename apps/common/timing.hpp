// Rounds that a program times itself: how often, how long, and what it says of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "apps/common/statistics.hpp"

namespace pinstudy {

// Centre and spread of a quantity over the rounds. Of one round there is no standard deviation.
struct Spread {
    double median = 0;
    double mean = 0;
    std::optional<double> sd;
};

// Of one sample or more.
Spread spread_of(const Samples& samples);

// The deviation with so many decimals; "-" where there is none.
std::string sd_text(const Spread& spread, int digits);

// One round: its time and other quantities, or why there are no more of them.
struct Sample {
    double seconds = 0;
    std::map<std::string, double> quantities;
    std::string failure;
};

// A measurement: the time of a round, and the quantities beside it.
struct Timed {
    std::int64_t rounds = 0;
    Spread ms;
    std::map<std::string, Spread> quantities;
};

// What is measured, by its name.
using Results = std::map<std::string, Timed>;

// Does so many rounds, fewer where one fails. Nothing where the first one does.
std::optional<Timed> time_rounds(std::int64_t rounds, const std::function<Sample()>& round);

}  // namespace pinstudy
