// A round: each thread works through its array, all side by side until all have been timed.
#include "apps/smt/experiment.hpp"

#include <gtest/gtest.h>

namespace pinstudy::smt {
namespace {

constexpr std::int64_t kItems = 50000;

TEST(Experiment, TimesEachThreadAndChecksItsSum) {
    Team::lead(2, [](Team& team) {
        Experiment experiment(team, kItems, {Work::accumulate, Work::sin});
        for (int i = 0; i < 3; ++i) {
            const std::vector<double> ms = experiment.round();
            EXPECT_EQ(ms.size(), 2U);
            EXPECT_GT(ms.front(), 0.0);
            EXPECT_GT(ms.back(), 0.0);
        }
        const Verdict verdict = experiment.check().verdict(kItems);
        EXPECT_TRUE(verdict.passed) << verdict.reason;
        EXPECT_EQ(verdict.reason.substr(0, 6), "6 sums");
        return 0;
    });
}

TEST(Experiment, WorksWhereTheThreadsWerePut) {
    const Cpus before = allowed_cpus();
    Team::lead(2, [&](Team& team) {
        for (const Cpus& cpus :
             {Cpus{before.back(), before.front()}, Cpus{before.front(), before.front()}}) {
            team.round(
                [&](int thread) { pin_this_thread(cpus[static_cast<std::size_t>(thread)]); });
            Experiment experiment(team, kItems, {Work::accumulate, Work::accumulate});
            experiment.round();
            EXPECT_EQ(experiment.seen().cpus(), (std::set<int>{cpus[0], cpus[1]}));
            EXPECT_TRUE(experiment.check().verdict(kItems).passed);
        }
        // A runtime keeps its threads for the next team.
        team.round([&](int) { allow_thread(0, before); });
        return 0;
    });
}

TEST(Works, OfMixedAlternate) {
    EXPECT_EQ(works_of("mixed", 3), (Works{Work::accumulate, Work::sin, Work::accumulate}));
    EXPECT_EQ(works_of("sin", 2), (Works{Work::sin, Work::sin}));
    EXPECT_EQ(works_of("accumulate", 1), (Works{Work::accumulate}));
}

}  // namespace
}  // namespace pinstudy::smt
