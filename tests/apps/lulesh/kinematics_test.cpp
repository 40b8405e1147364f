// Volumes, lengths and rates of hexahedra whose values are known.
#include "apps/lulesh/kinematics.hpp"

#include <gtest/gtest.h>

#include "apps/lulesh/domain.hpp"
#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

constexpr double kOffsets[kCorners][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                          {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

struct Edge {
    double x, y, z;
};

// The parallelepiped with edges a, b, c from corner 0.
Corners parallelepiped(const Edge& a, const Edge& b, const Edge& c) {
    Corners corners;
    for (int i = 0; i < kCorners; ++i) {
        const double* o = kOffsets[i];
        corners.at[i] = {splat(o[0] * a.x + o[1] * b.x + o[2] * c.x),
                         splat(o[0] * a.y + o[1] * b.y + o[2] * c.y),
                         splat(o[0] * a.z + o[1] * b.z + o[2] * c.z)};
    }
    return corners;
}

TEST(HexahedronVolume, IsTheDeterminantOfAParallelepiped) {
    EXPECT_DOUBLE_EQ(hexahedron_volume(parallelepiped({2, 0, 0}, {0, 3, 0}, {0, 0, 5}))[0], 30.0);
    EXPECT_DOUBLE_EQ(hexahedron_volume(parallelepiped({2, 1, 0}, {0, 3, 1}, {1, 0, 5}))[0], 31.0);
}

TEST(HexahedronVolume, IsExactForABilinearTop) {
    // The unit cube with one top corner raised by h: the top is 1 + h x y, its integral 1 + h/4.
    Corners corners = parallelepiped({1, 0, 0}, {0, 1, 0}, {0, 0, 1});
    corners.at[6].z += 0.5;
    EXPECT_DOUBLE_EQ(hexahedron_volume(corners)[0], 1.125);
}

TEST(HexahedronVolume, IsNegativeWhenTurnedInsideOut) {
    EXPECT_LT(hexahedron_volume(parallelepiped({1, 0, 0}, {0, 1, 0}, {0, 0, -1}))[0], 0.0);
}

TEST(CharacteristicLength, IsTheVolumeOverTheLargestFace) {
    const Corners box = parallelepiped({2, 0, 0}, {0, 3, 0}, {0, 0, 5});
    EXPECT_DOUBLE_EQ(characteristic_length(box, splat(30.0))[0], 2.0);
    const Corners skewed = parallelepiped({1, 0, 0}, {4, 1, 0}, {0, 0, 1});
    // |b x c| = |(1, -4, 0)|
    EXPECT_DOUBLE_EQ(characteristic_length(skewed, splat(1.0))[0], 1.0 / std::sqrt(17.0));
}

class Kinematics : public ::testing::Test {
  protected:
    // Moves all nodes with the velocity (ax, by, cz) for a step, as the cycle does before.
    void deform(double a, double b, double c, double dt) {
        for (Index node = 0; node < domain_.mesh.nodes; ++node) {
            const double rates[] = {a, b, c};
            double* const x = node_place(domain_.fields.x.data(), node);
            double* const u = node_place(domain_.fields.u.data(), node);
            for (int k = 0; k < 3; ++k) {
                u[k] = rates[k] * x[k];
                x[k] += u[k] * dt;
            }
        }
    }

    Domain domain_{3, {}};
};

TEST_F(Kinematics, FindsTheStretchedVolumeOfEveryElement) {
    deform(0.1, 0.2, -0.3, 0.5);
    const double lowest =
        element_kinematics(domain_.mesh, domain_.fields, 0.5, {0, domain_.mesh.blocks});
    const double expected = 1.05 * 1.1 * 0.85;
    EXPECT_NEAR(lowest, expected, 1e-14);
    for (std::size_t i = 0; i < 27; ++i) {
        EXPECT_NEAR(domain_.fields.v[i], expected, 1e-14);
        EXPECT_NEAR(domain_.fields.delv[i], expected - 1.0, 1e-14);
    }
}

TEST_F(Kinematics, TakesTheRateAtTheMiddleOfTheStep) {
    deform(0.1, 0.2, -0.3, 0.5);
    element_kinematics(domain_.mesh, domain_.fields, 0.5, {0, domain_.mesh.blocks});
    // du/dx by the position in the middle: a / (1 + a dt / 2).
    const double expected = 0.1 / 1.025 + 0.2 / 1.05 - 0.3 / 0.925;
    for (std::size_t i = 0; i < 27; ++i) {
        EXPECT_NEAR(domain_.fields.vdov[i], expected, 1e-14);
    }
}

TEST_F(Kinematics, TakesGradientsAtTheNewPositions) {
    deform(0.1, 0.2, -0.3, 0.5);
    element_kinematics(domain_.mesh, domain_.fields, 0.5, {0, domain_.mesh.blocks});
    const Fields::Gradients& g = domain_.fields.gradients;
    const double size = 1.125 / 3;
    for (std::size_t i = 0; i < 27; ++i) {
        EXPECT_NEAR(g.delx_xi[i], 1.05 * size, 1e-14);
        EXPECT_NEAR(g.delx_eta[i], 1.1 * size, 1e-14);
        EXPECT_NEAR(g.delx_zeta[i], 0.85 * size, 1e-14);
        EXPECT_NEAR(g.delv_xi[i], 0.1 / 1.05, 1e-14);
        EXPECT_NEAR(g.delv_eta[i], 0.2 / 1.1, 1e-14);
        EXPECT_NEAR(g.delv_zeta[i], -0.3 / 0.85, 1e-14);
    }
}

TEST_F(Kinematics, SeesNoChangeInWhatDoesNotMove) {
    element_kinematics(domain_.mesh, domain_.fields, 0.5, {0, domain_.mesh.blocks});
    for (std::size_t i = 0; i < 27; ++i) {
        EXPECT_EQ(domain_.fields.v[i], 1.0);
        EXPECT_EQ(domain_.fields.delv[i], 0.0);
        EXPECT_EQ(domain_.fields.vdov[i], 0.0);
    }
}

}  // namespace
}  // namespace pinstudy::lulesh
