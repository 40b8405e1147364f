// Is the number of points found inside the Mandelbrot set right?
#pragma once

#include <cstdint>

#include "apps/common/program.hpp"

namespace pinstudy::mandelbrot {

// The escape thresholds on |z|^2: the one of OmpSCR, which loses the few members of the set whose
// orbit leaves the circle of radius sqrt(2) and comes back, and the one with which nothing is lost.
inline constexpr std::int64_t kOmpscrEscape = 2;
inline constexpr std::int64_t kExactEscape = 4;

// Compares with the known count, if there is one for this number of points and this threshold,
// else with the known area of the set, as closely as so many points allow.
Verdict check(std::int64_t points, std::int64_t inside, std::int64_t escape);

// The standard error of the area as estimated from so many random points.
double standard_error(std::int64_t points);

}  // namespace pinstudy::mandelbrot
