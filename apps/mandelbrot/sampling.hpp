// The parallel loop over the points, and the area that follows from it.
#pragma once

#include <cstdint>
#include <span>

#include "apps/mandelbrot/points.hpp"

namespace pinstudy::mandelbrot {

inline constexpr int kMaxIterations = 100000;

// Whether z -> z^2 + c, from z = c, leaves |z|^2 <= threshold within kMaxIterations iterations; the
// starting value itself is not tested.
bool is_outside(const Point& c, double threshold);

// The number of points outside. They are dealt to the team's threads by schedule(runtime).
std::int64_t count_outside(std::span<const Point> points, double threshold);

// The area of the set of which `inside` out of `points` sampled points are members: twice that
// share of the rectangle.
double area_of(std::int64_t inside, std::int64_t points);

}  // namespace pinstudy::mandelbrot
