// Region sizes, runs and EOS factors as LULESH 2.0 has them with glibc's rand(), seed 0.
#include "apps/lulesh/regions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace pinstudy::lulesh {
namespace {

struct Expected {
    Index edge;
    std::vector<Index> sizes;
    int runs;
    double eos_factor;  // three digits behind the point
};

class DefaultRegions : public ::testing::TestWithParam<Expected> {};

TEST_P(DefaultRegions, HaveTheSizesRunsAndCostOfTheOriginal) {
    const Expected& expected = GetParam();
    const Regions regions(expected.edge * expected.edge * expected.edge, {});
    int runs = 1;
    for (std::size_t i = 1; i < regions.of_element.size(); ++i) {
        runs += regions.of_element[i] != regions.of_element[i - 1] ? 1 : 0;
    }
    std::vector<Index> sizes;
    for (const std::vector<Index>& elements : regions.elements) {
        sizes.push_back(static_cast<Index>(elements.size()));
    }
    EXPECT_EQ(sizes, expected.sizes);
    EXPECT_EQ(runs, expected.runs);
    EXPECT_EQ(regions.of_element[0], 10) << "the first run belongs to region 11";
    EXPECT_NEAR(regions.eos_factor, expected.eos_factor, 0.0005);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, DefaultRegions,
    ::testing::Values(
        Expected{5, {0, 8, 7, 10, 31, 0, 13, 0, 19, 12, 25}, 10, 5.152},
        Expected{10, {0, 14, 14, 78, 389, 55, 73, 44, 148, 85, 100}, 52, 3.305},
        Expected{20, {30, 41, 104, 321, 516, 244, 341, 340, 387, 2366, 3310}, 241, 9.321},
        Expected{30, {123, 457, 493, 2733, 1004, 896, 3236, 2435, 1198, 5980, 8445}, 757, 7.452},
        Expected{
            45, {2024, 1308, 4907, 5622, 7949, 6881, 8593, 5672, 14771, 15032, 18366}, 2221, 5.389},
        Expected{50,
                 {5294, 1844, 5358, 8889, 9091, 9502, 12402, 10232, 17464, 19971, 24953},
                 3267,
                 5.349},
        Expected{60,
                 {5808, 7470, 7089, 14914, 13036, 19826, 18742, 21423, 29664, 37335, 40693},
                 5555,
                 5.167},
        Expected{70,
                 {9786, 15792, 14591, 20658, 21775, 32361, 26709, 43099, 45605, 54503, 58121},
                 8605,
                 4.809},
        Expected{80,
                 {13895, 19199, 22703, 24862, 34951, 48489, 46610, 63686, 74145, 82234, 81226},
                 13074,
                 4.630},
        Expected{90,
                 {16671, 25561, 31176, 39481, 51744, 67292, 82948, 96240, 92935, 110368, 114584},
                 18504,
                 4.603}),
    [](const auto& edge) { return "Edge" + std::to_string(edge.param.edge); });

TEST(Regions, HaveTheCostOfTheOriginalForOtherNumbersAndBalances) {
    struct Case {
        std::int64_t regions, balance;
        double eos_factor;
    };
    for (const Case& c : {Case{11, 0, 2.918}, Case{11, 2, 4.645}, Case{2, 1, 1.518},
                          Case{5, 1, 6.526}, Case{20, 1, 4.496}}) {
        const RegionOptions options{c.regions, c.balance, 1};
        EXPECT_NEAR(Regions(27000, options).eos_factor, c.eos_factor, 0.0005)
            << c.regions << " regions, balance " << c.balance;
    }
    EXPECT_EQ(Regions(27000, {1, 1, 1}).eos_factor, 2.0);
}

TEST(Regions, RepeatTheEquationOfStateByTheirPlace) {
    std::vector<std::int64_t> repetitions;
    for (std::int64_t region = 0; region < 11; ++region) {
        repetitions.push_back(eos_repetitions(region, 11, 1));
    }
    EXPECT_EQ(repetitions, (std::vector<std::int64_t>{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 20}));
    EXPECT_EQ(eos_repetitions(0, 1, 1), 2);
    EXPECT_EQ(eos_repetitions(0, 2, 1), 1);
    EXPECT_EQ(eos_repetitions(1, 2, 1), 2);
    EXPECT_EQ(eos_repetitions(4, 5, 4), 50);
    EXPECT_EQ(eos_repetitions(10, 11, 0), 10);
}

TEST(Regions, RepeatTenfoldInOneTwoOrThreeRegionsByTheirNumber) {
    const auto tenfold = [](std::int64_t regions) {
        int count = 0;
        for (std::int64_t region = 0; region < regions; ++region) {
            count += eos_repetitions(region, regions, 1) == 20 ? 1 : 0;
        }
        return count;
    };
    EXPECT_EQ(tenfold(4), 0);
    EXPECT_EQ(tenfold(5), 1);
    EXPECT_EQ(tenfold(24), 1);
    EXPECT_EQ(tenfold(25), 2);
    EXPECT_EQ(tenfold(44), 2);
    EXPECT_EQ(tenfold(45), 3);
}

TEST(Regions, ListEveryElementOnceInIncreasingOrder) {
    for (const std::int64_t count : {1, 2, 11, 200}) {
        const Regions regions(343, {count, 1, 1});
        ASSERT_EQ(regions.elements.size(), static_cast<std::size_t>(count));
        std::vector<int> seen(343, 0);
        for (std::size_t region = 0; region < regions.elements.size(); ++region) {
            const std::vector<Index>& elements = regions.elements[region];
            EXPECT_TRUE(std::is_sorted(elements.begin(), elements.end()));
            for (const Index element : elements) {
                ++seen[element];
                EXPECT_EQ(regions.of_element[element], static_cast<Index>(region));
            }
        }
        EXPECT_EQ(seen, std::vector<int>(343, 1));
    }
}

TEST(Regions, KnowHowOftenEachIsEvaluated) {
    const Regions regions(1000, {});
    EXPECT_EQ(regions.repetitions, (std::vector<std::int64_t>{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 20}));
}

TEST(Regions, SumTheirWeightsUpToALimit) {
    EXPECT_EQ(total_weight(11, 1), 66);
    EXPECT_EQ(total_weight(11, 0), 11);
    EXPECT_EQ(total_weight(11, 2), 506);
    EXPECT_EQ(total_weight(65535, 1), 2147450880);
    EXPECT_EQ(total_weight(2, 30), 1073741825);
    EXPECT_GT(total_weight(2, 31), kLargestWeight);
    EXPECT_GT(total_weight(65535, 31), kLargestWeight);
}

}  // namespace
}  // namespace pinstudy::lulesh
