// In a round all threads are released together, and it ends when the last has finished.
#include "apps/common/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "apps/common/affinity.hpp"
#include "apps/common/led_team.hpp"

namespace pinstudy {
namespace {

using std::chrono::milliseconds;

TEST(Rounds, EveryThreadDoesItsPartOfEachOnce) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 50;
    std::vector<int> turns(kThreads);
    lead_team(kThreads, [&](PlacedTeam& team) {
        for (int i = 0; i < kRounds; ++i) {
            team.round([&](int thread) { ++turns[static_cast<std::size_t>(thread)]; });
            EXPECT_EQ(turns, std::vector<int>(kThreads, i + 1));
        }
        return 0;
    });
}

TEST(Rounds, NobodyBeginsBeforeAllHaveCome) {
    std::atomic<int> begun{0};
    lead_team(3, [&](PlacedTeam& team) {
        for (int i = 0; i < 20; ++i) {
            begun = 0;
            team.round([&](int) {
                ++begun;
                // Ends only because the others begin as well.
                while (begun < 3) {
                    std::this_thread::yield();
                }
            });
        }
        return 0;
    });
    EXPECT_EQ(begun, 3);
}

TEST(Rounds, TellHowLongEachThreadWorkedSinceTheRelease) {
    lead_team(2, [](PlacedTeam& team) {
        double inside = 0;
        const std::vector<Turn> turns = team.round([&](int thread) {
            std::this_thread::sleep_for(milliseconds(thread == 0 ? 1 : 20));
            if (thread == 1) {
                inside = team.since_release();
            }
        });
        EXPECT_GE(turns[0].seconds, 0.001);
        EXPECT_GE(turns[1].seconds, 0.020);
        EXPECT_GE(turns[1].seconds, inside);
        EXPECT_GE(inside, 0.020);
        return 0;
    });
}

TEST(Rounds, GoOnWhenAllThreadsShareOneCpu) {
    const Cpus before = allowed_cpus();
    lead_team(4, [&](PlacedTeam& team) {
        team.round([&](int) { pin_this_thread(before.front()); });
        for (int i = 0; i < 20; ++i) {
            const std::vector<Turn>& turns = team.round([](int) {});
            for (const Turn& turn : turns) {
                EXPECT_EQ(turn.first_cpu, before.front());
                EXPECT_EQ(turn.last_cpu, before.front());
            }
        }
        // A runtime keeps its threads for the next team.
        team.round([&](int) { allow_this_thread(before); });
        return 0;
    });
    EXPECT_EQ(allowed_cpus(), before);
}

TEST(LeadTeam, ReturnsWhatTheLeaderReturnsAndThrowsWhatItThrows) {
    EXPECT_EQ(lead_team(2, [](PlacedTeam& team) { return team.threads(); }), 2);
    EXPECT_EQ(lead_team(1, [](PlacedTeam& team) { return team.threads(); }), 1);
    EXPECT_THROW(lead_team(2, [](PlacedTeam&) -> int { throw std::runtime_error("enough"); }),
                 std::runtime_error);
}

}  // namespace
}  // namespace pinstudy
