// What a measurement is made by.
#pragma once

#include <cstdint>
#include <string>

#include "apps/pingpong/sampling.hpp"

namespace pinstudy::pingpong {

// `pause`: the threads tell the processor that they spin. `addresses` are the lines of a direction.
struct Settings {
    std::string method = "cas";
    bool pause = false;
    std::int64_t addresses = 2;
    std::int64_t seed = 1;
    Sampling sampling;
};

}  // namespace pinstudy::pingpong
