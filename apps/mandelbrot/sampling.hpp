// The parallel loop over the points, and the area that follows from it.
#pragma once

#include <cstdint>
#include <span>

#include "apps/mandelbrot/points.hpp"

namespace pinstudy::mandelbrot {

struct Tally {
    std::int64_t outside = 0;
    int threads = 1;  // the team that was formed
};

// Tests every point with the team's threads; the points are dealt by schedule(runtime).
Tally count_outside(std::span<const Point> points, double threshold);

// The area of the set of which `inside` out of `points` sampled points are members: twice that
// share of the rectangle.
double area_of(std::int64_t inside, std::int64_t points);

}  // namespace pinstudy::mandelbrot
