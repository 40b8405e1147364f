// Which pairs are measured, and in which order.
#include "apps/pingpong/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <tuple>

#include "apps/pingpong/handover.hpp"

namespace pinstudy::pingpong {
namespace {

using Pairs = std::vector<CpuPair>;

std::string refusal(const std::string& text) {
    try {
        parse_pairs(text);
        return "";
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

// Everything that is measured, one entry a run, in its order.
std::vector<std::tuple<int, int, int>> flat(const std::vector<PairPlan>& plans) {
    std::vector<std::tuple<int, int, int>> runs;
    for (const PairPlan& plan : plans) {
        for (const RunPlan& run : plan.runs) {
            runs.emplace_back(run.first_begins ? plan.cpus.first : plan.cpus.second,
                              run.first_begins ? plan.cpus.second : plan.cpus.first, run.address);
        }
    }
    return runs;
}

TEST(Order, PairsAreReadInTheirOrder) {
    EXPECT_EQ(parse_pairs("0:1"), (Pairs{{0, 1}}));
    EXPECT_EQ(parse_pairs("5:2,0:1\n 7:300\t\r\n"), (Pairs{{5, 2}, {0, 1}, {7, 300}}));
}

TEST(Order, WhatIsNoPairIsRefused) {
    for (const char* text : {"0", "0:", ":1", "0:1:2", "0-1:2", "a:b", "0:1;2:3", "-1:0", "0:65536",
                             "0:99999999999"}) {
        EXPECT_NE(refusal(text).find("is no pair of CPUs; expected pairs such as 0:1,0:2"),
                  std::string::npos)
            << text;
    }
    for (const char* text : {"", " ", ",,\n"}) {
        EXPECT_EQ(refusal(text), "there is no pair; expected pairs such as 0:1,0:2");
    }
}

TEST(Order, ACpuWithItselfAndAPairTwiceAreRefused) {
    EXPECT_NE(refusal("0:1,3:3").find("'3:3' is one CPU"), std::string::npos);
    EXPECT_NE(refusal("0:1,1:0").find("'1:0' stands twice"), std::string::npos);
    EXPECT_NE(refusal("0:1,0:1").find("'0:1' stands twice"), std::string::npos);
}

TEST(Order, AllPairsAreEachOnce) {
    EXPECT_EQ(all_pairs({0, 2, 5}), (Pairs{{0, 2}, {0, 5}, {2, 5}}));
    EXPECT_EQ(all_pairs({3}), Pairs{});
}

TEST(Order, EveryDirectionAndAddressOfEveryPairIsMeasuredOnce) {
    const auto runs = flat(shuffled(all_pairs({0, 1, 2, 3}), 3, 1));
    const std::set<std::tuple<int, int, int>> distinct(runs.begin(), runs.end());
    EXPECT_EQ(runs.size(), 6U * 2U * 3U);
    EXPECT_EQ(distinct.size(), runs.size());
    for (const auto& [from, to, address] : runs) {
        EXPECT_TRUE(distinct.contains({to, from, address}));
    }
}

TEST(Order, TheSeedAloneGivesIt) {
    const Pairs pairs = all_pairs({0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(flat(shuffled(pairs, 2, 5)), flat(shuffled(pairs, 2, 5)));
    EXPECT_NE(flat(shuffled(pairs, 2, 5)), flat(shuffled(pairs, 2, 6)));
}

TEST(Order, PairsAndRunsAreShuffled) {
    const Pairs pairs = all_pairs({0, 1, 2, 3, 4, 5, 6, 7});
    const std::vector<PairPlan> plans = shuffled(pairs, 4, 1);
    std::set<std::vector<std::pair<bool, int>>> orders;
    Pairs measured;
    for (const PairPlan& plan : plans) {
        measured.push_back(plan.cpus);
        std::vector<std::pair<bool, int>> order;
        for (const RunPlan& run : plan.runs) {
            order.emplace_back(run.first_begins, run.address);
        }
        orders.insert(order);
    }
    EXPECT_NE(measured, pairs);
    EXPECT_TRUE(std::is_permutation(measured.begin(), measured.end(), pairs.begin()));
    // Eight runs have 40320 orders: that two of 28 pairs share one is a matter of 1 %.
    EXPECT_GT(orders.size(), 20U);
}

TEST(Order, LinesAreAtDifferentPlacesOfTheirPages) {
    std::set<int> slots;
    for (const PairPlan& plan : shuffled(all_pairs({0, 1, 2, 3, 4, 5, 6, 7}), 4, 1)) {
        for (const RunPlan& run : plan.runs) {
            EXPECT_GE(run.slot, 0);
            EXPECT_LT(run.slot, kSlots);
            slots.insert(run.slot);
        }
    }
    EXPECT_EQ(slots.size(), static_cast<std::size_t>(kSlots));
}

}  // namespace
}  // namespace pinstudy::pingpong
