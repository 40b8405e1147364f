// A round is done by all threads, where they were put, and looked at.
#include "apps/contention/experiment.hpp"

#include <gtest/gtest.h>

#include "apps/common/led_team.hpp"

namespace pinstudy::contention {
namespace {

TEST(Experiment, ChecksTheSumOfEveryPairAndRound) {
    for (const Operation operation : {Operation::integer, Operation::real}) {
        for (const bool same_line : {false, true}) {
            Settings settings;
            settings.times = 1000;
            settings.same_line = same_line;
            lead_team(4, [&](PlacedTeam& team) {
                Experiment experiment(team, settings, operation, "as-started", {});
                for (int i = 0; i < 3; ++i) {
                    const Sample sample = experiment.round();
                    EXPECT_EQ(sample.failure, "");
                    EXPECT_GT(sample.seconds, 0.0);
                    EXPECT_DOUBLE_EQ(sample.quantities.at("ns_per_operation"),
                                     sample.seconds * 1e9 / 4000);
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
        Experiment experiment(team, settings, Operation::integer, "same-cpu", cpus);
        experiment.round();
        experiment.round();
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            EXPECT_EQ(experiment.tracks()[i].cpus, std::set<int>{cpus[i]});
            EXPECT_EQ(experiment.tracks()[i].moves, 0);
        }
        EXPECT_EQ(team.put({}), "");
        return 0;
    });
}

TEST(Experiment, SaysWhyItCannotBe) {
    const Cpus before = allowed_cpus();
    lead_team(2, [&](PlacedTeam& team) {
        Settings settings;
        settings.threads = 2;
        Experiment experiment(team, settings, Operation::integer, "cores", {before.front(), 65535});
        EXPECT_NE(experiment.round().failure, "");
        EXPECT_EQ(experiment.round().failure, experiment.failure());
        EXPECT_EQ(experiment.check().sums(), 0);
        return 0;
    });
    allow_this_thread(before);
}

}  // namespace
}  // namespace pinstudy::contention
