#include "apps/mandelbrot/sampling.hpp"

#include <gtest/gtest.h>

#include "tests/apps/common/openmp.hpp"

namespace pinstudy::mandelbrot {
namespace {

// OmpSCR's c_mandel finds 26 of the first 100 points inside.
TEST(Sampling, FindsTheSameCountWithEveryTeamAndSchedule) {
    const std::vector<Point> points = sample_points(100);
    testing::for_every_team_and_schedule([&](const std::string& how) {
        EXPECT_EQ(100 - count_outside(points, 2.0).outside, 26) << how;
    });
}

TEST(Sampling, OfNoPointsFindsNone) {
    EXPECT_EQ(count_outside({}, 2.0).outside, 0);
}

#ifdef _OPENMP
TEST(Sampling, TellsTheTeamThatWasFormed) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(3);
    EXPECT_EQ(count_outside(sample_points(10), 2.0).threads, 3);
    omp_set_num_threads(before);
}
#endif

// The rectangle has the area 2.5 x 1.125 and holds the upper half of the set.
TEST(Sampling, TurnsTheShareInsideIntoTheAreaOfTheWholeSet) {
    EXPECT_DOUBLE_EQ(area_of(26, 100), 1.4625);
    EXPECT_DOUBLE_EQ(area_of(0, 7), 0.0);
    EXPECT_DOUBLE_EQ(area_of(7, 7), 5.625);
}

}  // namespace
}  // namespace pinstudy::mandelbrot
