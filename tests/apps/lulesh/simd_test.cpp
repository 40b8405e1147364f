// Vectors of doubles, and nodes as lanes.
#include "apps/lulesh/simd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/lulesh/element_access.hpp"
#include "apps/lulesh/node_access.hpp"

namespace pinstudy::lulesh {
namespace {

TEST(Simd, TakesInverseCubeRootsToTheLastBits) {
    for (double value = 1.0e-12; value < 1.0e+6; value *= 1.0137) {
        const Real result = inverse_cbrt(splat(value));
        for (int lane = 0; lane < kLanes; ++lane) {
            EXPECT_NEAR(result[lane] * std::cbrt(value), 1.0, 8.0e-16) << value;
        }
    }
}

TEST(Simd, TakesSquareRootsAndMagnitudes) {
    EXPECT_EQ(sqrt(splat(2.25))[kLanes - 1], 1.5);
    EXPECT_EQ(abs(splat(-0.5))[0], 0.5);
    EXPECT_FALSE(std::signbit(abs(splat(-0.0))[0]));
}

TEST(Simd, FindsASingleLane) {
    for (int lane = 0; lane < kLanes; ++lane) {
        Real value = splat(1.0);
        value[lane] = -1.0;
        EXPECT_TRUE(any(value < 0.0));
        EXPECT_FALSE(any(value < -1.0));
        EXPECT_EQ(lowest(value), -1.0);
        EXPECT_EQ(highest(-value), 1.0);
    }
}

TEST(NodeAccess, GathersTheComponentsOfAnyNodes) {
    std::vector<double> field(64 * kNodeStride);
    for (std::size_t i = 0; i < field.size(); ++i) {
        field[i] = static_cast<double>(i);
    }
    Index nodes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
        nodes[lane] = (lane * 37 + 11) % 64;
    }
    const Vec3 value = gather_nodes(field.data(), nodes);
    for (int lane = 0; lane < kLanes; ++lane) {
        EXPECT_EQ(value.x[lane], 4.0 * nodes[lane]);
        EXPECT_EQ(value.y[lane], 4.0 * nodes[lane] + 1.0);
        EXPECT_EQ(value.z[lane], 4.0 * nodes[lane] + 2.0);
    }
}

TEST(NodeAccess, AddsLaneByLaneAlsoToOneAndTheSameNode) {
    std::vector<double> field(4 * kNodeStride, 0.0);
    Index nodes[kLanes];
    Vec3 value{};
    double sum = 0.0;
    for (int lane = 0; lane < kLanes; ++lane) {
        nodes[lane] = 2;
        value.x[lane] = lane + 1.0;
        value.y[lane] = 10.0 * (lane + 1.0);
        value.z[lane] = 100.0 * (lane + 1.0);
        sum += lane + 1.0;
    }
    add_to_nodes(field.data(), nodes, value);
    EXPECT_EQ(field[8], sum);
    EXPECT_EQ(field[9], 10.0 * sum);
    EXPECT_EQ(field[10], 100.0 * sum);
    EXPECT_EQ(field[11], 0.0);
    EXPECT_EQ(field[7], 0.0);
    EXPECT_EQ(field[12], 0.0);
}

class Elements : public ::testing::TestWithParam<std::vector<Index>> {};

TEST_P(Elements, AreReadAndWrittenThroughTheirList) {
    std::vector<Index> list = GetParam();
    list.resize(kLanes, list.back());
    Array<double> field(100);
    Array<Index> neighbours(100);
    for (std::size_t i = 0; i < 100; ++i) {
        field[i] = static_cast<double>(i);
        neighbours[i] = static_cast<Index>(i * i % 97);
    }
    const ElementGroup group(list.data());
    const Real own = group.gather(field);
    const Real beyond = group.gather_through(neighbours.data(), field);
    for (int lane = 0; lane < kLanes; ++lane) {
        const Index element = list[static_cast<std::size_t>(lane)];
        EXPECT_EQ(own[lane], element);
        EXPECT_EQ(beyond[lane], element * element % 97);
    }
    group.scatter(field, own + 1000.0);
    for (std::size_t i = 0; i < 100; ++i) {
        const bool listed = std::find(list.begin(), list.end(), i) != list.end();
        EXPECT_EQ(field[i], static_cast<double>(i) + (listed ? 1000.0 : 0.0));
    }
}

INSTANTIATE_TEST_SUITE_P(Lists, Elements,
                         ::testing::Values(std::vector<Index>{3, 4, 5, 6, 7, 8, 9, 10},
                                           std::vector<Index>{0, 9, 17, 18, 40, 41, 60, 99},
                                           std::vector<Index>{5, 6, 8, 12, 12, 12, 12, 12},
                                           std::vector<Index>{7}));

}  // namespace
}  // namespace pinstudy::lulesh
