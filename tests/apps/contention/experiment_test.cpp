// A round is done by all threads, where they were put, and looked at.
#include "apps/contention/experiment.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace pinstudy::contention {
namespace {

TEST(Slots, AreSoManyBytesApartFromTheBeginningOfALine) {
    for (const std::int64_t spacing : {kApart, kNeighbours, kSameLine}) {
        Slots slots(kMostInALine, spacing);
        const auto address = [&slots](std::size_t pair) {
            return reinterpret_cast<std::intptr_t>(&slots.at<float>(pair));
        };
        EXPECT_EQ(address(0) % 4096, 0);
        EXPECT_EQ(address(1) - address(0), spacing);
        EXPECT_EQ(address(2) - address(1), spacing);
        if (spacing == kSameLine) {
            EXPECT_EQ(address(0) / kNeighbours, address(kMostInALine - 1) / kNeighbours);
        }
    }
}

TEST(Slots, BeginWithZeroAndKeepTheirOwn) {
    Slots slots(2, kSameLine);
    slots.at<std::int32_t>(1) = 7;
    EXPECT_EQ(slots.at<std::int32_t>(0), 0);
    EXPECT_EQ(slots.at<std::int32_t>(1), 7);
}

TEST(Adding, LosesNothingOfAnInteger) {
    constexpr int kThreads = 4;
    constexpr int kTimes = 50000;
    std::atomic<std::int32_t> sum{0};
    Team::lead(kThreads, [&](Team& team) {
        team.round([&](int) { add(sum, kTimes); });
        return 0;
    });
    EXPECT_EQ(sum, kThreads * kTimes);
}

TEST(Adding, LosesNothingOfAFloatThatOneThreadAddsTo) {
    std::atomic<float> sum{0};
    add(sum, 262144);
    EXPECT_EQ(sum, 262144.0F);
    add(sum, 1);
    EXPECT_EQ(sum, 262145.0F);
}

TEST(Experiment, ChecksTheSumOfEveryPairAndRound) {
    for (const Operation operation : {Operation::integer, Operation::real}) {
        for (const std::int64_t spacing : {kSameLine, kNeighbours, kApart}) {
            Team::lead(4, [&](Team& team) {
                Experiment experiment(team, operation, 1000, spacing);
                for (int i = 0; i < 3; ++i) {
                    EXPECT_GT(experiment.round(), 0.0);
                }
                // Two pairs, one round to warm up.
                EXPECT_EQ(experiment.check().sums(), 8);
                EXPECT_TRUE(experiment.check().verdict().passed);
                return 0;
            });
        }
    }
}

TEST(Experiment, SeesThePinnedThreadsOnTheirCpus) {
    const Cpus before = allowed_cpus();
    Team::lead(4, [&](Team& team) {
        const Cpus cpus{before.front(), before.front(), before.back(), before.back()};
        team.round([&](int thread) { pin_this_thread(cpus[static_cast<std::size_t>(thread)]); });
        Experiment experiment(team, Operation::integer, 1000, kApart);
        experiment.round();
        experiment.round();
        EXPECT_EQ(experiment.seen().cpus(), (std::set<int>{before.front(), before.back()}));
        EXPECT_EQ(experiment.seen().moves(), 0);
        // A runtime keeps its threads for the next team.
        team.round([&](int) { allow_thread(0, before); });
        return 0;
    });
}

}  // namespace
}  // namespace pinstudy::contention
