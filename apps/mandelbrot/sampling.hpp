// The points whose membership in the Mandelbrot set is tested, the parallel loop over them, and the
// area that follows from it.
#pragma once

#include <cstdint>
#include <span>
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
