// The points whose membership in the Mandelbrot set is tested.
#pragma once

#include <cstdint>
#include <vector>

namespace pinstudy::mandelbrot {

struct Point {
    double re = 0.0;
    double im = 0.0;
};

// The rectangle [-2, 0.5] x [0, 1.125] holds the upper half of the set, which is symmetric.
inline constexpr double kLeft = -2.0;
inline constexpr double kWidth = 2.5;
inline constexpr double kHeight = 1.125;

// The first `count` points of the sequence all runs share (OmpSCR: random() with seed 31416), so
// that the points of a smaller run are the first ones of a larger run.
std::vector<Point> sample_points(std::int64_t count);

}  // namespace pinstudy::mandelbrot
