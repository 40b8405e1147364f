// A round is done by all threads, where they were put, and looked at.
#include "apps/contention/experiment.hpp"

#include <gtest/gtest.h>

#include "apps/common/led_team.hpp"

namespace pinstudy::contention {
namespace {

TEST(Experiment, ChecksTheSumOfEveryPairAndRound) {
    for (const char* const word : {"integer", "float"}) {
        for (const bool same_line : {false, true}) {
            Settings settings;
            settings.word = word;
            settings.times = 1000;
            settings.same_line = same_line;
            lead_team(4, [&](PlacedTeam& team) {
                Experiment experiment(team, settings);
                for (int i = 0; i < 3; ++i) {
                    EXPECT_GT(experiment.round(), 0.0);
                }
                // Two pairs, one round to warm up.
                EXPECT_EQ(experiment.check().sums(), 8);
                EXPECT_EQ(experiment.check().wrong(), 0);
                return 0;
            });
        }
    }
}

TEST(Experiment, SeesThePinnedThreadsOnTheirCpus) {
    const Cpus before = allowed_cpus();
    Settings settings;
    settings.times = 1000;
    lead_team(4, [&](PlacedTeam& team) {
        const Cpus cpus{before.front(), before.front(), before.back(), before.back()};
        team.round([&](int thread) { pin_this_thread(cpus[static_cast<std::size_t>(thread)]); });
        Experiment experiment(team, settings);
        experiment.round();
        experiment.round();
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            EXPECT_EQ(experiment.tracks()[i].cpus, std::set<int>{cpus[i]});
            EXPECT_EQ(experiment.tracks()[i].moves, 0);
        }
        // A runtime keeps its threads for the next team.
        team.round([&](int) { allow_this_thread(before); });
        return 0;
    });
}

}  // namespace
}  // namespace pinstudy::contention
