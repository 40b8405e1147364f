#include "apps/mandelbrot/lanes.hpp"

#include <gtest/gtest.h>

namespace pinstudy::mandelbrot {
namespace {

bool is_outside(const Point& point, double threshold) {
    Lanes lanes(threshold);
    lanes.add(point);
    lanes.finish();
    return lanes.outside() == 1;
}

// The definition, one point at a time.
bool is_outside_by_definition(const Point& c, double threshold) {
    double re = c.re;
    double im = c.im;
    for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
        const double next = re * re - im * im + c.re;
        im = 2.0 * re * im + c.im;
        re = next;
        if (re * re + im * im > threshold) {
            return true;
        }
    }
    return false;
}

TEST(Lanes, KnowMembersOfTheSet) {
    for (const Point& member : {Point{0, 0}, Point{-1, 0}, Point{0.25, 0}, Point{-0.1, 0.75}}) {
        EXPECT_FALSE(is_outside(member, 2.0)) << member.re << ' ' << member.im;
        EXPECT_FALSE(is_outside(member, 4.0)) << member.re << ' ' << member.im;
    }
}

TEST(Lanes, KnowPointsOutside) {
    for (const Point& other : {Point{0.5, 0}, Point{1, 1}, Point{-2, 1.125}, Point{0.26, 0}}) {
        EXPECT_TRUE(is_outside(other, 2.0)) << other.re << ' ' << other.im;
        EXPECT_TRUE(is_outside(other, 4.0)) << other.re << ' ' << other.im;
    }
}

// The orbit of i is -1+i, -i, -1+i, ...: |z|^2 reaches 2 exactly and no more.
TEST(Lanes, TakeAPointOnTheThresholdForAMember) {
    EXPECT_FALSE(is_outside({0, 1}, 2.0));
    EXPECT_TRUE(is_outside({0, 1}, 1.999));
}

// -2 is the leftmost member of the set; its orbit is 2, 2, 2, ...
TEST(Lanes, LoseMembersFarFromTheOriginUnlessTheThresholdIs4) {
    EXPECT_TRUE(is_outside({-2, 0}, 2.0));
    EXPECT_FALSE(is_outside({-2, 0}, 4.0));
}

TEST(Lanes, NeverTestTheStartingValue) {
    EXPECT_FALSE(is_outside({-1.45, 0}, 2.5));
}

TEST(Lanes, DecideEveryPointAsTheDefinitionDoes) {
    for (const double threshold : {2.0, 4.0}) {
        std::int64_t expected = 0;
        Lanes together(threshold);
        for (const Point& point : sample_points(400)) {
            const bool outside = is_outside_by_definition(point, threshold);
            EXPECT_EQ(is_outside(point, threshold), outside) << point.re << ' ' << point.im;
            expected += outside ? 1 : 0;
            together.add(point);
        }
        together.finish();
        EXPECT_EQ(together.outside(), expected);
    }
}

TEST(Lanes, GoOnAfterTheyFinished) {
    Lanes lanes(2.0);
    lanes.finish();
    EXPECT_EQ(lanes.outside(), 0);
    for (int round = 1; round <= 3; ++round) {
        lanes.add({1, 1});
        lanes.add({0, 0});
        lanes.finish();
        EXPECT_EQ(lanes.outside(), round);
    }
}

}  // namespace
}  // namespace pinstudy::mandelbrot
