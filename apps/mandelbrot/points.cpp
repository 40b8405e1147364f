#include "apps/mandelbrot/points.hpp"

#include "apps/common/glibc_random.hpp"

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

}  // namespace pinstudy::mandelbrot
