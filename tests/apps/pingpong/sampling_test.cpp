// A run: what is counted, how many samples there are, and that nobody waits for ever.
#include "apps/pingpong/sampling.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "apps/common/affinity.hpp"

namespace pinstudy::pingpong {
namespace {

struct Outcome {
    Run run;
    std::uint64_t answers = 0;
};

// One run on a line, wherever the two threads are.
Outcome play(const Sampling& sampling) {
    Outcome outcome;
    Line line;
    Pairing pairing;
    std::jthread other([&] {
        pairing.meet(1);
        outcome.answers = answer(line, sampling.play, pairing, 1);
        pairing.meet(1);
    });
    pairing.meet(0);
    outcome.run = begin(line, sampling, true, pairing, 0);
    pairing.meet(0);
    return outcome;
}

Sampling sampling(Method method, bool pause) {
    Sampling rule;
    rule.play = play_of(method, pause);
    rule.sample_ns = 2e3;
    rule.least = 30;
    rule.most = 30;
    return rule;
}

TEST(Run, TheLineCountsWhatBothThreadsDid) {
    for (const Method method : {Method::cas, Method::store}) {
        for (const bool pause : {false, true}) {
            const Outcome outcome = play(sampling(method, pause));
            EXPECT_EQ(outcome.run.one_way_ns.size(), 30U);
            // Each sample is preceded by a turn that is not timed.
            EXPECT_GE(outcome.run.turns,
                      30U * (static_cast<std::uint64_t>(outcome.run.round_trips) + 1));
            EXPECT_EQ(outcome.answers, outcome.run.turns);
            EXPECT_EQ(outcome.run.value, 2 * outcome.run.turns);
            for (const double sample : outcome.run.one_way_ns) {
                EXPECT_GT(sample, 0.0);
            }
        }
    }
}

TEST(Run, SamplesGoOnUntilTheyArePreciseOrThereAreMost) {
    Sampling rule = sampling(Method::cas, false);
    rule.most = 100;
    rule.sample_ns = 50e3;
    rule.precision = 1e-9;  // half of the samples would have to take the same nanoseconds
    EXPECT_EQ(play(rule).run.one_way_ns.size(), 100U);
    rule.precision = 0.0;
    EXPECT_EQ(play(rule).run.one_way_ns.size(), 30U);
}

TEST(Run, AThreadWithoutPartnerGivesUp) {
    Line line;
    Pairing pairing(std::chrono::milliseconds(20));
    const Sampling rule = sampling(Method::cas, false);
    const auto run = begin(line, rule, true, pairing, 0);
    EXPECT_TRUE(run.one_way_ns.empty());
    EXPECT_TRUE(pairing.given_up());
    EXPECT_NE(pairing.reason().find("did not answer for 20 ms"), std::string::npos);
}

TEST(Run, AThreadThatNobodyMeetsGivesUp) {
    Pairing pairing(std::chrono::milliseconds(20));
    EXPECT_FALSE(pairing.meet(1));
    EXPECT_TRUE(pairing.given_up());
}

TEST(Run, TheFirstReasonToGiveUpCounts) {
    Pairing pairing;
    pairing.give_up("the first");
    pairing.give_up("the second");
    EXPECT_EQ(pairing.reason(), "the first");
    EXPECT_FALSE(pairing.meet(0));
}

TEST(Run, ThreadsOnOneCpuLetEachOtherRun) {
    const int cpu = allowed_cpus().front();
    Line line;
    Pairing pairing;
    const Sampling rule = sampling(Method::store, false);
    std::uint64_t answers = 0;
    pingpong::Run run;
    std::jthread second([&] {
        pin_this_thread(cpu);
        pairing.meet(1);
        answers = answer(line, rule.play, pairing, 1);
    });
    std::jthread first([&] {
        pin_this_thread(cpu);
        pairing.meet(0);
        run = begin(line, rule, false, pairing, 0);
    });
    first.join();
    second.join();
    EXPECT_FALSE(pairing.given_up()) << pairing.reason();
    EXPECT_EQ(run.one_way_ns.size(), 30U);
    EXPECT_EQ(answers, run.turns);
    EXPECT_GT(pairing.yields(), 0);
}

TEST(Run, SamplesAreLongAgainstReadingTheClock) {
    EXPECT_GT(clock_cost_ns(), 0.0);
    EXPECT_EQ(long_enough_ns(50e3, 25.0), 50e3);
    EXPECT_EQ(long_enough_ns(50e3, 1000.0), 1e6);
}

}  // namespace
}  // namespace pinstudy::pingpong
