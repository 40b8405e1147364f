// A round: each thread works through its array, all side by side until all have been timed.
#include "apps/smt/experiment.hpp"

#include <gtest/gtest.h>

#include "apps/common/led_team.hpp"

namespace pinstudy::smt {
namespace {

constexpr std::int64_t kItems = 50000;

TEST(Experiment, TimesEachThreadAndTheSlowest) {
    lead_team(2, [](PlacedTeam& team) {
        Workshop workshop(team, kItems);
        Experiment experiment(workshop, "mixed/as-started", {}, {Work::accumulate, Work::sin});
        for (int i = 0; i < 3; ++i) {
            const Sample sample = experiment.round();
            EXPECT_EQ(sample.failure, "");
            const double first = sample.quantities.at("thread0_ms");
            const double second = sample.quantities.at("thread1_ms");
            EXPECT_GT(first, 0.0);
            EXPECT_GT(second, 0.0);
            EXPECT_DOUBLE_EQ(1e3 * sample.seconds, std::max(first, second));
            EXPECT_DOUBLE_EQ(sample.quantities.at("thread_ms"), (first + second) / 2);
            EXPECT_NEAR(sample.quantities.at("items_per_s") * (first + second) / 2e3, kItems, 1e-3);
        }
        const Verdict verdict = workshop.check().verdict(kItems);
        EXPECT_TRUE(verdict.passed) << verdict.reason;
        EXPECT_EQ(verdict.reason.substr(0, 6), "6 sums");
        return 0;
    });
}

TEST(Experiment, LeavesSleepersAlone) {
    lead_team(3, [](PlacedTeam& team) {
        Workshop workshop(team, kItems);
        Experiment experiment(workshop, "sin/alone/as-started", {},
                              {std::nullopt, Work::sin, std::nullopt});
        const Sample sample = experiment.round();
        EXPECT_EQ(sample.quantities.count("thread0_ms"), 0U);
        EXPECT_DOUBLE_EQ(sample.quantities.at("thread_ms"), 1e3 * sample.seconds);
        EXPECT_EQ(workshop.check().verdict(kItems).reason.substr(0, 5), "1 sum");
        return 0;
    });
}

TEST(Experiment, WorksWhereTheThreadsWerePut) {
    const Cpus before = allowed_cpus();
    lead_team(2, [&](PlacedTeam& team) {
        Workshop workshop(team, kItems);
        for (const Cpus& cpus :
             {Cpus{before.back(), before.front()}, Cpus{before.front(), before.front()}}) {
            Experiment experiment(workshop, "accumulate/somewhere", cpus,
                                  {Work::accumulate, Work::accumulate});
            EXPECT_EQ(experiment.round().failure, "");
            EXPECT_EQ(experiment.tracks()[0].cpus, std::set<int>{cpus[0]});
            EXPECT_EQ(experiment.tracks()[1].cpus, std::set<int>{cpus[1]});
        }
        EXPECT_TRUE(workshop.check().verdict(kItems).passed);
        EXPECT_EQ(team.put({}), "");
        return 0;
    });
}

TEST(Experiment, SaysWhyItCannotBe) {
    const Cpus before = allowed_cpus();
    lead_team(2, [&](PlacedTeam& team) {
        Workshop workshop(team, kItems);
        Experiment experiment(workshop, "sin/cores", {before.front(), 65535},
                              {Work::sin, Work::sin});
        EXPECT_NE(experiment.round().failure, "");
        EXPECT_EQ(experiment.round().failure, experiment.failure());
        return 0;
    });
    allow_this_thread(before);
}

}  // namespace
}  // namespace pinstudy::smt
