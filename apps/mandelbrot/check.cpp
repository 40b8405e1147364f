#include "apps/mandelbrot/check.hpp"

#include <array>
#include <cmath>
#include <cstdlib>

#include "apps/mandelbrot/sampling.hpp"

namespace pinstudy::mandelbrot {
namespace {

// T. Forstemann, "Numerical estimation of the area of the Mandelbrot set", 2012: 1.50659177(8).
constexpr double kArea = 1.50659177;

// What OmpSCR's threshold loses: 44 of 133246 members among 500000 points.
constexpr double kOmpscrLoss = 5.0e-4;

// So many standard errors are met with all but every 1.7 millionth seed.
constexpr double kStandardErrors = 5.0;

struct KnownCount {
    std::int64_t points;
    std::int64_t inside;
};

// OmpSCR 2.0 c_mandel with the GNU C library, built by GCC 12 and Clang 14 with FMA.
constexpr std::array<KnownCount, 8> kKnownCounts{{{100, 26},
                                                  {1000, 284},
                                                  {4092, 1081},
                                                  {8192, 2176},
                                                  {10000, 2674},
                                                  {50000, 13362},
                                                  {100000, 26499},
                                                  {500000, 133171}}};

// A point on the boundary may change sides with the rounding of its orbit, that is with the
// compiler's use of FMA: one of 100000 points is known to.
constexpr std::int64_t kCountTolerance = 2;

Verdict compare_with_count(std::int64_t inside, std::int64_t known) {
    return {std::abs(inside - known) <= kCountTolerance,
            std::to_string(inside) + " points inside, known " + std::to_string(known) + " +- " +
                std::to_string(kCountTolerance)};
}

Verdict compare_with_area(std::int64_t points, std::int64_t inside, std::int64_t escape) {
    // The loss itself is known to about its own size: it is subtracted and allowed for.
    const double loss = escape == kOmpscrEscape ? kOmpscrLoss : 0.0;
    const double expected = kArea - loss;
    const double tolerance = kStandardErrors * standard_error(points) + loss;
    const double area = area_of(inside, points);
    return {std::abs(area - expected) <= tolerance,
            printed("area %.6f, expected %.6f +- %.6f, which is %.0f standard errors", area,
                    expected, tolerance, kStandardErrors)};
}

}  // namespace

double standard_error(std::int64_t points) {
    constexpr double kWhole = 2.0 * kWidth * kHeight;
    constexpr double kShare = kArea / kWhole;
    return kWhole * std::sqrt(kShare * (1.0 - kShare) / static_cast<double>(points));
}

Verdict check(std::int64_t points, std::int64_t inside, std::int64_t escape) {
    if (escape == kOmpscrEscape) {
        for (const KnownCount& known : kKnownCounts) {
            if (known.points == points) {
                return compare_with_count(inside, known.inside);
            }
        }
    }
    return compare_with_area(points, inside, escape);
}

}  // namespace pinstudy::mandelbrot
