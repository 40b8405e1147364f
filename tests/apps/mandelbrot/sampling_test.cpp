#include "apps/mandelbrot/sampling.hpp"

#include <gtest/gtest.h>

#include "tests/apps/common/openmp.hpp"

namespace pinstudy::mandelbrot {
namespace {

// OmpSCR's c_mandel finds 26 of the first 100 points inside.
TEST(Sampling, FindsTheSameCountWithEveryTeamAndSchedule) {
    const std::vector<Point> points = sample_points(100);
    testing::for_every_team_and_schedule(
        [&](const std::string& how) { EXPECT_EQ(100 - count_outside(points, 2.0), 26) << how; });
}

TEST(Sampling, OfNoPointsFindsNone) {
    EXPECT_EQ(count_outside({}, 2.0), 0);
}

TEST(Point, OfTheSetIsNotOutside) {
    for (const Point& member : {Point{0, 0}, Point{-1, 0}, Point{0.25, 0}, Point{-0.1, 0.75}}) {
        EXPECT_FALSE(is_outside(member, 2.0)) << member.re << ' ' << member.im;
        EXPECT_FALSE(is_outside(member, 4.0)) << member.re << ' ' << member.im;
    }
}

TEST(Point, BesideTheSetIsOutside) {
    for (const Point& other : {Point{0.5, 0}, Point{1, 1}, Point{-2, 1.125}, Point{0.26, 0}}) {
        EXPECT_TRUE(is_outside(other, 2.0)) << other.re << ' ' << other.im;
        EXPECT_TRUE(is_outside(other, 4.0)) << other.re << ' ' << other.im;
    }
}

// The orbit of i is -1+i, -i, -1+i, ...: |z|^2 reaches 2 exactly and no more.
TEST(Point, WhoseOrbitReachesTheThresholdIsAMember) {
    EXPECT_FALSE(is_outside({0, 1}, 2.0));
    EXPECT_TRUE(is_outside({0, 1}, 1.999));
}

// -2 is the leftmost member of the set; its orbit is 2, 2, 2, ...
TEST(Point, FarFromTheOriginIsLostUnlessTheThresholdIs4) {
    EXPECT_TRUE(is_outside({-2, 0}, 2.0));
    EXPECT_FALSE(is_outside({-2, 0}, 4.0));
}

TEST(Point, IsNotTestedItself) {
    EXPECT_FALSE(is_outside({-1.45, 0}, 2.5));
}

// The rectangle has the area 2.5 x 1.125 and holds the upper half of the set.
TEST(Sampling, TurnsTheShareInsideIntoTheAreaOfTheWholeSet) {
    EXPECT_DOUBLE_EQ(area_of(26, 100), 1.4625);
    EXPECT_DOUBLE_EQ(area_of(0, 7), 0.0);
    EXPECT_DOUBLE_EQ(area_of(7, 7), 5.625);
}

}  // namespace
}  // namespace pinstudy::mandelbrot
