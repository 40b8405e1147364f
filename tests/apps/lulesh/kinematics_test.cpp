// Volumes, lengths and rates of hexahedra whose values are known.
#include "apps/lulesh/kinematics.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pinstudy::lulesh {
namespace {

constexpr double kOffsets[kCorners][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                          {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

// The parallelepiped with edges a, b, c from corner 0.
Corners parallelepiped(const Vec3& a, const Vec3& b, const Vec3& c) {
    Corners corners;
    for (int i = 0; i < kCorners; ++i) {
        const double* const o = kOffsets[i];
        corners.set(i, o[0] * a + o[1] * b + o[2] * c);
    }
    return corners;
}

TEST(HexahedronVolume, IsTheDeterminantOfAParallelepiped) {
    EXPECT_DOUBLE_EQ(hexahedron_volume(parallelepiped({2, 0, 0}, {0, 3, 0}, {0, 0, 5})), 30.0);
    EXPECT_DOUBLE_EQ(hexahedron_volume(parallelepiped({2, 1, 0}, {0, 3, 1}, {1, 0, 5})), 31.0);
}

TEST(HexahedronVolume, IsExactForABilinearTop) {
    // The unit cube with one top corner raised by h: the top is 1 + h x y, its integral 1 + h/4.
    Corners corners = parallelepiped({1, 0, 0}, {0, 1, 0}, {0, 0, 1});
    corners.z[6] += 0.5;
    EXPECT_DOUBLE_EQ(hexahedron_volume(corners), 1.125);
}

TEST(HexahedronVolume, IsNegativeWhenTurnedInsideOut) {
    EXPECT_LT(hexahedron_volume(parallelepiped({1, 0, 0}, {0, 1, 0}, {0, 0, -1})), 0.0);
}

TEST(CharacteristicLength, IsTheVolumeOverTheLargestFace) {
    const Corners box = parallelepiped({2, 0, 0}, {0, 3, 0}, {0, 0, 5});
    EXPECT_DOUBLE_EQ(characteristic_length(box, 30.0), 2.0);
    const Corners skewed = parallelepiped({1, 0, 0}, {4, 1, 0}, {0, 0, 1});
    // |b x c| = |(1, -4, 0)|
    EXPECT_DOUBLE_EQ(characteristic_length(skewed, 1.0), 1.0 / std::sqrt(17.0));
}

TEST(ShapeDerivatives, OfAParallelepipedHaveItsVolumeAsDeterminant) {
    const ShapeDerivatives shape =
        shape_derivatives(parallelepiped({2, 1, 0}, {0, 3, 1}, {1, 0, 5}));
    EXPECT_DOUBLE_EQ(shape.determinant, 31.0);
}

TEST(ShapeDerivatives, SumToNothingAndAreOppositeAcrossTheElement) {
    const ShapeDerivatives shape =
        shape_derivatives(parallelepiped({2, 1, 0}, {0, 3, 1}, {1, 0, 5}));
    constexpr int kOpposite[kCorners] = {6, 7, 4, 5, 2, 3, 0, 1};
    for (int i = 0; i < kCorners; ++i) {
        EXPECT_EQ(shape.b[i].x, -shape.b[kOpposite[i]].x);
        EXPECT_EQ(shape.b[i].y, -shape.b[kOpposite[i]].y);
        EXPECT_EQ(shape.b[i].z, -shape.b[kOpposite[i]].z);
    }
}

class Kinematics : public ::testing::Test {
  protected:
    // Moves all nodes with the velocity (ax, by, cz) for a step, as the cycle does before.
    void deform(double a, double b, double c, double dt) {
        Nodes& nodes = domain_.nodes;
        for (Index node = 0; node < domain_.mesh.node_count; ++node) {
            nodes.xd[node] = a * nodes.x[node];
            nodes.yd[node] = b * nodes.y[node];
            nodes.zd[node] = c * nodes.z[node];
            nodes.x[node] += nodes.xd[node] * dt;
            nodes.y[node] += nodes.yd[node] * dt;
            nodes.z[node] += nodes.zd[node] * dt;
        }
    }

    Domain domain_{3, {}, 1};
};

TEST_F(Kinematics, FindsTheStretchedVolumeOfEveryElement) {
    deform(0.1, 0.2, -0.3, 0.5);
    calculate_kinematics(domain_, 0.5);
    const double expected = 1.05 * 1.1 * 0.85;
    for (std::size_t i = 0; i < 27; ++i) {
        EXPECT_NEAR(domain_.elements.vnew[i], expected, 1e-14);
        EXPECT_NEAR(domain_.elements.delv[i], expected - 1.0, 1e-14);
        EXPECT_EQ(domain_.elements.v[i], 1.0) << "the present volume changes at the cycle's end";
    }
}

TEST_F(Kinematics, TakesTheRateAtTheMiddleOfTheStep) {
    deform(0.1, 0.2, -0.3, 0.5);
    calculate_kinematics(domain_, 0.5);
    // du/dx by the position in the middle: a / (1 + a dt / 2).
    const double expected = 0.1 / 1.025 + 0.2 / 1.05 - 0.3 / 0.925;
    for (std::size_t i = 0; i < 27; ++i) {
        EXPECT_NEAR(domain_.elements.vdov[i], expected, 1e-14);
    }
}

TEST_F(Kinematics, SeesNoChangeInWhatDoesNotMove) {
    calculate_kinematics(domain_, 0.5);
    for (std::size_t i = 0; i < 27; ++i) {
        EXPECT_EQ(domain_.elements.vnew[i], 1.0);
        EXPECT_EQ(domain_.elements.delv[i], 0.0);
        EXPECT_EQ(domain_.elements.vdov[i], 0.0);
    }
}

TEST_F(Kinematics, GivesUpWhenAnElementTurnsInsideOut) {
    deform(0.0, 0.0, -3.0, 0.5);
    EXPECT_THROW(calculate_kinematics(domain_, 0.5), Breakdown);
}

}  // namespace
}  // namespace pinstudy::lulesh
