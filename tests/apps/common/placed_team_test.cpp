// Threads are where they were put, and where they were seen is told.
#include "apps/common/placed_team.hpp"

#include <gtest/gtest.h>

#include "apps/common/led_team.hpp"

namespace pinstudy {
namespace {

TEST(PlacedTeam, TellsTheCpusThatEachThreadMayUse) {
    const Cpus before = allowed_cpus();
    lead_team(2, [&](PlacedTeam& team) {
        EXPECT_EQ(team.masks(), (std::vector<Cpus>{before, before}));
        team.round(
            [&](int thread) { pin_this_thread(thread == 0 ? before.back() : before.front()); });
        EXPECT_EQ(team.masks(), (std::vector<Cpus>{{before.back()}, {before.front()}}));
        // A runtime keeps its threads for the next team.
        team.round([&](int) { allow_this_thread(before); });
        return 0;
    });
}

TEST(Tracks, CountAThreadThatIsSeenElsewhereThanBefore) {
    std::vector<Track> tracks(2);
    follow(tracks, {{1.0, 0, 0}, {1.0, 1, 2}});
    follow(tracks, {{1.0, 0, 0}, {1.0, 2, 1}});
    follow(tracks, {{1.0, 3, 3}, {1.0, 1, 1}});
    EXPECT_EQ(tracks[0].moves, 1);
    EXPECT_EQ(tracks[0].cpus, (std::set<int>{0, 3}));
    EXPECT_EQ(tracks[1].moves, 2);
    EXPECT_EQ(tracks[1].cpus, (std::set<int>{1, 2}));
}

TEST(CpusText, TellsPinnedThreadsFromOthers) {
    EXPECT_EQ(cpus_text({{0}, {0}, {1}, {1}}), "0,0,1,1");
    EXPECT_EQ(cpus_text({{0, 1, 2}, {0, 1, 2}}), "any of 0-2");
    EXPECT_EQ(cpus_text({{0, 1}, {2, 3}}), "within 0-3");
}

}  // namespace
}  // namespace pinstudy
