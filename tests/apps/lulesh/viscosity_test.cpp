// The monotonic artificial viscosity of elements whose neighbours are known.
#include "apps/lulesh/viscosity.hpp"

#include <gtest/gtest.h>

#include "apps/lulesh/kinematics.hpp"

namespace pinstudy::lulesh {
namespace {

double limit(double delv, double minus, double plus) {
    return limiter({delv, 0.5, minus, plus});
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
    const AxisGradient axes[3] = {
        {-2.0, 0.5, -1.0, -2.0}, {-4.0, 0.5, 0.0, 0.0}, {3.0, 0.5, 0.0, 0.0}};
    const double density = 1.25;
    const ViscosityTerms terms = monotonic_viscosity(axes, density);
    EXPECT_DOUBLE_EQ(terms.linear, 0.5 * density * (1.0 * 0.25 + 2.0));
    EXPECT_DOUBLE_EQ(terms.quadratic, 2.0 / 3.0 * density * (1.0 * (1.0 - 0.5625) + 4.0));
}

class Viscosity : public ::testing::Test {
  protected:
    // Moves every node with the velocity rate * x along the x axis, and finds the viscosity.
    void move_along_x(double rate) {
        for (Index node = 0; node < domain_.mesh.node_count; ++node) {
            domain_.nodes.xd[node] = rate * domain_.nodes.x[node];
        }
        calculate_kinematics(domain_, 1e-6);
        calculate_viscosity(domain_);
    }

    Domain domain_{3, {}, 1};
};

TEST_F(Viscosity, IsNothingWhereTheVolumeGrows) {
    move_along_x(2.0);
    EXPECT_EQ(domain_.elements.ql, std::vector<double>(27, 0.0));
    EXPECT_EQ(domain_.elements.qq, std::vector<double>(27, 0.0));
}

TEST_F(Viscosity, OfAUniformCompressionIsSomethingOnlyWhereTheMeshEnds) {
    move_along_x(-2.0);
    // Inside, and at the plane of symmetry, the neighbours change alike: phi = 1. Beyond the outer
    // face nothing changes: phi = 0.
    for (Index element = 0; element < 27; ++element) {
        const double jump = -2.0 * 1.125 / 3;
        const bool outermost = element % 3 == 2;
        EXPECT_NEAR(domain_.elements.ql[element], outermost ? -0.5 * jump : 0.0, 1e-12) << element;
        EXPECT_NEAR(domain_.elements.qq[element], outermost ? 2.0 / 3.0 * jump * jump : 0.0, 1e-12)
            << element;
    }
}

TEST_F(Viscosity, OutOfBoundsEndsTheRun) {
    domain_.elements.q[13] = 1.1e+12;
    EXPECT_THROW(move_along_x(0.0), Breakdown);
}

}  // namespace
}  // namespace pinstudy::lulesh
