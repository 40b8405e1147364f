#include "apps/mandelbrot/sampling.hpp"

#include "apps/common/glibc_random.hpp"
#include "apps/common/parallel_loop.hpp"

namespace pinstudy::mandelbrot {

std::vector<Point> sample_points(std::int64_t count) {
    constexpr std::uint32_t kSeed = 31416;
    constexpr double kRandomMaximum = 2147483647.0;
    GlibcRandom random(kSeed);
    std::vector<Point> points(static_cast<std::size_t>(count));
    for (Point& point : points) {
        point.re = kLeft + kWidth * random.next() / kRandomMaximum;
        point.im = kHeight * random.next() / kRandomMaximum;
    }
    return points;
}

bool is_outside(const Point& c, double threshold) {
    Point z = c;
    for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
        z = {z.re * z.re - z.im * z.im + c.re, 2.0 * z.re * z.im + c.im};
        if (z.re * z.re + z.im * z.im > threshold) {
            return true;
        }
    }
    return false;
}

std::int64_t count_outside(std::span<const Point> points, double threshold) {
    const auto count = static_cast<std::int64_t>(points.size());
    std::int64_t outside = 0;
#pragma omp parallel reduction(+ : outside)
    share_loop(std::int64_t{0}, count,
               [&](std::int64_t i) { outside += is_outside(points[i], threshold) ? 1 : 0; });
    return outside;
}

double area_of(std::int64_t inside, std::int64_t points) {
    return 2.0 * kWidth * kHeight * static_cast<double>(inside) / static_cast<double>(points);
}

}  // namespace pinstudy::mandelbrot
