// Google Benchmark drives the rounds and computes their statistics; its options are its own.
#include "apps/common/timing.hpp"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

namespace pinstudy {
namespace {

char program[] = "program";

// Rounds that take 1, 2, 3 … ms.
std::function<Sample()> growing() {
    return [round = 0]() mutable {
        ++round;
        Sample sample;
        sample.seconds = 1e-3 * round;
        sample.quantities["twice"] = 2.0 * round;
        return sample;
    };
}

class TimingTest : public ::testing::Test {
  protected:
    void TearDown() override { benchmark::ClearRegisteredBenchmarks(); }
};

TEST_F(TimingTest, TellsMedianMeanAndDeviationOfTheRounds) {
    std::vector<std::string> arguments;
    Timing timing(program, arguments);
    timing.add("a/b", 4, growing());
    const auto results = timing.run();
    ASSERT_EQ(results.size(), 1U);
    const Timed& timed = results.at("a/b");
    EXPECT_EQ(timed.rounds, 4);
    EXPECT_NEAR(timed.ms.median, 2.5, 1e-9);
    EXPECT_NEAR(timed.ms.mean, 2.5, 1e-9);
    ASSERT_TRUE(timed.ms.sd);
    EXPECT_NEAR(*timed.ms.sd, 1.2909944487358056, 1e-9);  // sqrt(5/3)
    EXPECT_NEAR(timed.quantities.at("twice").median, 5.0, 1e-9);
}

TEST_F(TimingTest, OfOneRoundThereIsNoDeviation) {
    std::vector<std::string> arguments;
    Timing timing(program, arguments);
    timing.add("one", 1, growing());
    const Timed timed = timing.run().at("one");
    EXPECT_EQ(timed.rounds, 1);
    EXPECT_NEAR(timed.ms.median, 1.0, 1e-9);
    EXPECT_NEAR(timed.ms.mean, 1.0, 1e-9);
    EXPECT_FALSE(timed.ms.sd);
}

TEST_F(TimingTest, AFailedRoundEndsItsMeasurementOnly) {
    std::vector<std::string> arguments;
    Timing timing(program, arguments);
    timing.add("fails", 3, [] {
        Sample sample;
        sample.failure = "no such CPU";
        return sample;
    });
    timing.add("works", 3, growing());
    EXPECT_NEAR(timing.run().at("works").ms.median, 2.0, 1e-9);
}

TEST_F(TimingTest, TakesOnlyGoogleBenchmarksOptions) {
    std::vector<std::string> arguments{"integer", "--benchmark_repetitions=2", "--rounds", "9"};
    Timing timing(program, arguments);
    EXPECT_EQ(timing.mistake(), "");
    EXPECT_EQ(arguments, (std::vector<std::string>{"integer", "--rounds", "9"}));
    EXPECT_FALSE(timing.has_the_output());
    timing.add("two", 9, growing());
    EXPECT_EQ(timing.run().at("two").rounds, 2);
}

TEST_F(TimingTest, SaysWhatGoogleBenchmarkDoesNotTake) {
    for (const std::string argument :
         {"--benchmark_format=xml", "--benchmark_out_format=xml", "--benchmark_nothing=1"}) {
        std::vector<std::string> arguments{argument};
        const Timing timing(program, arguments);
        EXPECT_NE(timing.mistake().find(argument.substr(0, argument.find('='))), std::string::npos)
            << timing.mistake();
    }
}

}  // namespace
}  // namespace pinstudy
