// The monotonic artificial viscosity of elements whose neighbours are known.
#include "apps/lulesh/viscosity.hpp"

#include <gtest/gtest.h>

namespace pinstudy::lulesh {
namespace {

AxisGradient axis(double delv, double minus, double plus) {
    return {splat(delv), splat(0.5), splat(minus), splat(plus)};
}

double limit(double delv, double minus, double plus) {
    return limiter(axis(delv, minus, plus))[0];
}

TEST(Limiter, IsOneInASmoothFieldAndZeroAtAnExtremum) {
    EXPECT_DOUBLE_EQ(limit(-2.0, -2.0, -2.0), 1.0);
    EXPECT_DOUBLE_EQ(limit(-2.0, -2.0, 2.0), 0.0);
    EXPECT_DOUBLE_EQ(limit(-2.0, 0.0, 0.0), 0.0);
}

TEST(Limiter, TakesTheMeanUnlessANeighbourChangesLess) {
    EXPECT_DOUBLE_EQ(limit(-2.0, -1.0, -2.0), 0.75);
    EXPECT_DOUBLE_EQ(limit(-2.0, -0.5, -2.0), 0.5);  // twice the smaller: 2 * 0.25
    EXPECT_DOUBLE_EQ(limit(-2.0, -2.0, -0.25), 0.25);
    EXPECT_DOUBLE_EQ(limit(-2.0, -9.0, -8.0), 1.0);  // at most 1
}

TEST(MonotonicViscosity, AddsUpTheCompressionsAlongTheAxes) {
    // Along the first axis a jump of -2 * 0.5, phi = 0.75; along the second phi = 0; the third
    // expands and has no part.
    const AxisGradient axes[3] = {axis(-2.0, -1.0, -2.0), axis(-4.0, 0.0, 0.0),
                                  axis(3.0, 0.0, 0.0)};
    const ArtificialViscosity result = monotonic_viscosity(axes, splat(0.8), splat(-1.0));
    const double density = 1.0 / 0.8;
    EXPECT_DOUBLE_EQ(result.linear[0], 0.5 * density * (1.0 * 0.25 + 2.0));
    EXPECT_DOUBLE_EQ(result.quadratic[0], 2.0 / 3.0 * density * (1.0 * (1.0 - 0.5625) + 4.0));
}

TEST(MonotonicViscosity, IsNothingWhereTheVolumeGrows) {
    const AxisGradient axes[3] = {axis(-2.0, 0.0, 0.0), axis(0.0, 0.0, 0.0), axis(9.0, 0.0, 0.0)};
    const ArtificialViscosity result = monotonic_viscosity(axes, splat(1.0), splat(7.0));
    EXPECT_EQ(result.linear[0], 0.0);
    EXPECT_EQ(result.quadratic[0], 0.0);
}

}  // namespace
}  // namespace pinstudy::lulesh
