// Forces of an element on its corners.
#include "apps/lulesh/force.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "apps/lulesh/kinematics.hpp"

namespace pinstudy::lulesh {
namespace {

// A hexahedron with no two edges alike.
Corners crooked() {
    constexpr double kPositions[kCorners][3] = {{0.0, 0.1, 0.0},  {1.1, 0.0, 0.1}, {1.0, 1.2, -0.1},
                                                {-0.1, 0.9, 0.0}, {0.1, 0.0, 1.0}, {0.9, 0.1, 1.1},
                                                {1.2, 1.0, 0.9},  {0.0, 1.1, 1.2}};
    Corners corners;
    for (int i = 0; i < kCorners; ++i) {
        corners.at[i] = {splat(kPositions[i][0]), splat(kPositions[i][1]), splat(kPositions[i][2])};
    }
    return corners;
}

Real& component(Vec3& vector, int axis) {
    return axis == 0 ? vector.x : axis == 1 ? vector.y : vector.z;
}

// Velocities that are linear in space: u = g x with a full matrix g.
Corners uniform_strain(const Corners& x) {
    Corners u;
    for (int i = 0; i < kCorners; ++i) {
        const Vec3& p = x.at[i];
        u.at[i] = {1.0 + 2.0 * p.x - 3.0 * p.y + 0.5 * p.z, -2.0 + p.x + p.y - 4.0 * p.z,
                   0.3 * p.x + 0.2 * p.y - p.z};
    }
    return u;
}

TEST(VolumeDerivatives, AreThoseOfTheVolume) {
    Corners x = crooked();
    Corners derivatives = volume_derivatives(x);
    constexpr double kStep = 1.0 / 1024;  // the volume is linear in each coordinate: any step does
    for (int i = 0; i < kCorners; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
            component(x.at[i], axis) += kStep;
            const double above = hexahedron_volume(x)[0];
            component(x.at[i], axis) -= 2 * kStep;
            const double below = hexahedron_volume(x)[0];
            component(x.at[i], axis) += kStep;
            EXPECT_NEAR(component(derivatives.at[i], axis)[0] / 12.0, (above - below) / (2 * kStep),
                        1e-12)
                << "corner " << i << ", axis " << axis;
        }
    }
}

TEST(CornerForces, AreAQuarterOfThePressureOnEachFaceAround) {
    // The unit cube: each corner touches three faces of area 1.
    Corners cube;
    constexpr double kOffsets[kCorners][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                              {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    for (int i = 0; i < kCorners; ++i) {
        cube.at[i] = {splat(kOffsets[i][0]), splat(kOffsets[i][1]), splat(kOffsets[i][2])};
    }
    Corners force = corner_forces(cube, Corners{}, {splat(8.0), splat(1.0), splat(0.0)});
    for (int i = 0; i < kCorners; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
            EXPECT_DOUBLE_EQ(component(force.at[i], axis)[0], kOffsets[i][axis] > 0 ? 2.0 : -2.0);
        }
    }
}

TEST(CornerForces, SumToNothing) {
    const Corners x = crooked();
    const Corners u = uniform_strain(crooked());
    const Corners force = corner_forces(x, u, {splat(3.0), hexahedron_volume(x), splat(-2.0)});
    Vec3 sum{};
    for (const Vec3& f : force.at) {
        sum = sum + f;
    }
    EXPECT_NEAR(sum.x[0], 0.0, 1e-13);
    EXPECT_NEAR(sum.y[0], 0.0, 1e-13);
    EXPECT_NEAR(sum.z[0], 0.0, 1e-13);
}

TEST(CornerForces, ResistNoUniformStrain) {
    const Corners x = crooked();
    const Corners still = corner_forces(x, Corners{}, {splat(3.0), hexahedron_volume(x), Real{}});
    const Corners strained =
        corner_forces(x, uniform_strain(x), {splat(3.0), hexahedron_volume(x), splat(-2.0)});
    for (int i = 0; i < kCorners; ++i) {
        EXPECT_NEAR(strained.at[i].x[0], still.at[i].x[0], 1e-12);
        EXPECT_NEAR(strained.at[i].y[0], still.at[i].y[0], 1e-12);
        EXPECT_NEAR(strained.at[i].z[0], still.at[i].z[0], 1e-12);
    }
}

TEST(CornerForces, OpposeEveryHourglassMode) {
    constexpr double kModes[4][kCorners] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                            {1, -1, -1, 1, -1, 1, 1, -1},
                                            {1, -1, 1, -1, 1, -1, 1, -1},
                                            {-1, 1, -1, 1, 1, -1, 1, -1}};
    const Corners x = crooked();
    for (const auto& mode : kModes) {
        Corners u{};
        for (int i = 0; i < kCorners; ++i) {
            u.at[i].y = splat(mode[i]);
        }
        const Corners force = corner_forces(x, u, {Real{}, hexahedron_volume(x), splat(-0.5)});
        double power = 0.0;
        for (int i = 0; i < kCorners; ++i) {
            power += force.at[i].y[0] * mode[i];
        }
        // In a cube gamma is the mode itself, and the power -0.5 * 8 * 8.
        EXPECT_LT(power, -16.0);
    }
}

}  // namespace
}  // namespace pinstudy::lulesh
