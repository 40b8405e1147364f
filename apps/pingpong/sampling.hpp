// One run: samples of the hand-over of one line, from one thread to the other and back.
#pragma once

#include <cstdint>

#include "apps/common/statistics.hpp"
#include "apps/pingpong/handover.hpp"
#include "apps/pingpong/pairing.hpp"

namespace pinstudy::pingpong {

// How a run is sampled. `sample_ns` is how long a sample shall take.
//
// There are `least` samples, then more until half of the 95 % interval of their median is at most
// the share `precision` of the median, but no more than `most`; 0 is satisfied with `least`.
struct Sampling {
    Play play = nullptr;
    double sample_ns = 50e3;
    int least = 30;
    int most = 300;
    double precision = 0.01;
};

// The results of a run. `one_way_ns` is half a round trip, on average within a sample; every sample
// is there. `round_trips` are those of a sample, `turns` all of the beginning thread's, warm-up
// included; `value` is what the line counted.
struct Run {
    std::int64_t round_trips = 0;
    Samples one_way_ns;
    std::uint64_t turns = 0;
    std::uint64_t value = 0;
};

// Nanoseconds that reading the clock takes, or its step where that is longer.
double clock_cost_ns();

// The nanoseconds of a sample of which a clock with this cost is a thousandth at most.
double long_enough_ns(double sample_ns, double clock_ns);

// The beginning thread's part of a run; its samples are absent when the pairing was given up. Ends
// the other thread's part. `cold` threads warm up until their samples are steady, others briefly.
Run begin(Line& line, const Sampling& sampling, bool cold, Pairing& pairing, int thread);

// The other thread's part: answers until it is stopped. Returns how often it did.
std::uint64_t answer(Line& line, Play play, Pairing& pairing, int thread);

}  // namespace pinstudy::pingpong
