#include "apps/mandelbrot/sampling.hpp"

#include <gtest/gtest.h>

namespace pinstudy::mandelbrot {
namespace {

// glibc's random() after srandom(31416) begins with 1794486976, 353868831.
TEST(Points, BeginWithTheFirstRandomNumbersOfTheSharedSeed) {
    const std::vector<Point> points = sample_points(1);
    EXPECT_DOUBLE_EQ(points[0].re, -2.0 + 2.5 * (1794486976.0 / 2147483647.0));
    EXPECT_DOUBLE_EQ(points[0].im, 1.125 * (353868831.0 / 2147483647.0));
}

TEST(Points, OfASmallerRunAreTheFirstOfALargerRun) {
    const std::vector<Point> few = sample_points(10);
    const std::vector<Point> many = sample_points(1000);
    ASSERT_EQ(few.size(), 10U);
    for (std::size_t i = 0; i < few.size(); ++i) {
        EXPECT_EQ(few[i].re, many[i].re);
        EXPECT_EQ(few[i].im, many[i].im);
    }
}

TEST(Points, LieInTheUpperHalfOfTheSetsRectangle) {
    for (const Point& point : sample_points(10000)) {
        EXPECT_GE(point.re, -2.0);
        EXPECT_LE(point.re, 0.5);
        EXPECT_GE(point.im, 0.0);
        EXPECT_LE(point.im, 1.125);
    }
}

}  // namespace
}  // namespace pinstudy::mandelbrot
