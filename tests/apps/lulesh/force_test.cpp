// Forces of an element on its corners.
#include "apps/lulesh/force.hpp"

#include <gtest/gtest.h>

#include "apps/lulesh/kinematics.hpp"

namespace pinstudy::lulesh {
namespace {

Corners corners_at(const double (&positions)[kCorners][3]) {
    Corners corners;
    for (int i = 0; i < kCorners; ++i) {
        corners.set(i, {positions[i][0], positions[i][1], positions[i][2]});
    }
    return corners;
}

// A hexahedron with no two edges alike.
Corners crooked() {
    return corners_at({{0.0, 0.1, 0.0},
                       {1.1, 0.0, 0.1},
                       {1.0, 1.2, -0.1},
                       {-0.1, 0.9, 0.0},
                       {0.1, 0.0, 1.0},
                       {0.9, 0.1, 1.1},
                       {1.2, 1.0, 0.9},
                       {0.0, 1.1, 1.2}});
}

// Velocities that are linear in space: u = g x with a full matrix g.
Corners uniform_strain(const Corners& x) {
    Corners u;
    for (int i = 0; i < kCorners; ++i) {
        const Vec3 p = x[i];
        u.set(i, {1.0 + 2.0 * p.x - 3.0 * p.y + 0.5 * p.z, -2.0 + p.x + p.y - 4.0 * p.z,
                  0.3 * p.x + 0.2 * p.y - p.z});
    }
    return u;
}

Corners resistance(const Corners& x, const Corners& u, double coefficient) {
    return hourglass_forces(x, u, volume_derivatives(x), hexahedron_volume(x), coefficient);
}

double (&component(Corners& corners, int axis))[kCorners] {
    return axis == 0 ? corners.x : axis == 1 ? corners.y : corners.z;
}

void expect_sum_of_nothing(const Corners& corners, double tolerance) {
    Vec3 sum;
    for (int i = 0; i < kCorners; ++i) {
        sum += corners[i];
    }
    EXPECT_NEAR(sum.x, 0.0, tolerance);
    EXPECT_NEAR(sum.y, 0.0, tolerance);
    EXPECT_NEAR(sum.z, 0.0, tolerance);
}

TEST(VolumeDerivatives, AreThoseOfTheVolume) {
    Corners x = crooked();
    Corners derivatives = volume_derivatives(x);
    constexpr double kStep = 1.0 / 1024;  // the volume is linear in each coordinate: any step does
    for (int i = 0; i < kCorners; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
            double& coordinate = component(x, axis)[i];
            coordinate += kStep;
            const double above = hexahedron_volume(x);
            coordinate -= 2 * kStep;
            const double below = hexahedron_volume(x);
            coordinate += kStep;
            EXPECT_NEAR(component(derivatives, axis)[i], (above - below) / (2 * kStep), 1e-12)
                << "corner " << i << ", axis " << axis;
        }
    }
}

TEST(CornerAreas, AreAQuarterOfEachFaceAround) {
    // The unit cube: each corner touches three faces of area 1.
    const double offsets[kCorners][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                         {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    Corners area = corner_areas(corners_at(offsets));
    for (int i = 0; i < kCorners; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
            EXPECT_DOUBLE_EQ(component(area, axis)[i], offsets[i][axis] > 0 ? 0.25 : -0.25);
        }
    }
}

TEST(CornerAreas, OfAClosedBodySumToNothing) {
    expect_sum_of_nothing(corner_areas(crooked()), 1e-15);
}

TEST(HourglassForces, SumToNothing) {
    expect_sum_of_nothing(resistance(crooked(), crooked(), -2.0), 1e-13);
}

TEST(HourglassForces, ResistNoUniformStrain) {
    Corners force = resistance(crooked(), uniform_strain(crooked()), -2.0);
    for (int i = 0; i < kCorners; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
            EXPECT_NEAR(component(force, axis)[i], 0.0, 1e-12) << i << ' ' << axis;
        }
    }
}

TEST(HourglassForces, OpposeEveryHourglassMode) {
    constexpr double kModes[4][kCorners] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                            {1, -1, -1, 1, -1, 1, 1, -1},
                                            {1, -1, 1, -1, 1, -1, 1, -1},
                                            {-1, 1, -1, 1, 1, -1, 1, -1}};
    for (const auto& mode : kModes) {
        Corners u;
        for (int i = 0; i < kCorners; ++i) {
            u.set(i, {0.0, mode[i], 0.0});
        }
        const Corners force = resistance(crooked(), u, -0.5);
        double power = 0.0;
        for (int i = 0; i < kCorners; ++i) {
            power += force[i].y * mode[i];
        }
        // In a cube the mode has no part of uniform strain, and the power is -0.5 * 8 * 8.
        EXPECT_LT(power, -16.0);
    }
}

TEST(Forces, PushTheNodesOfACompressedElementApart) {
    Domain domain(1, {}, 1);
    domain.elements.p[0] = 8.0;
    calculate_forces(domain);
    const double area = 1.125 * 1.125 / 4;
    EXPECT_DOUBLE_EQ(domain.nodes.fx[0], -8.0 * area);
    EXPECT_DOUBLE_EQ(domain.nodes.fy[0], -8.0 * area);
    EXPECT_DOUBLE_EQ(domain.nodes.fx[7], 8.0 * area);
}

TEST(Forces, AreTheSameForOneThreadAndForSeveralUpToRounding) {
    const auto forces = [](int threads) {
        Domain domain(4, {}, threads);
        for (Index i = 0; i < domain.mesh.element_count; ++i) {
            domain.elements.p[i] = 1.0 + i % 7;
            domain.elements.q[i] = 0.1 * (i % 5);
            domain.elements.ss[i] = 1.0 + i % 3;
        }
        for (Index node = 0; node < domain.mesh.node_count; ++node) {
            domain.nodes.xd[node] = node % 11 - 5;
            domain.nodes.yd[node] = node % 13 - 6;
        }
        calculate_forces(domain);
        return domain.nodes;
    };
    const Nodes one = forces(1);
    const Nodes several = forces(2);
    for (std::size_t node = 0; node < one.fx.size(); ++node) {
        EXPECT_NEAR(one.fx[node], several.fx[node], 1e-13) << node;
        EXPECT_NEAR(one.fy[node], several.fy[node], 1e-13) << node;
        EXPECT_NEAR(one.fz[node], several.fz[node], 1e-13) << node;
    }
}

}  // namespace
}  // namespace pinstudy::lulesh
