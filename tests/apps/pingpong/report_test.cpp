// The text that a person reads, the rate that goes with times, and the lines that a program reads.
#include "apps/pingpong/report.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/apps/common/expect_program.hpp"

namespace pinstudy::pingpong {
namespace {

PairResult pair_of(int first, int second, Samples samples) {
    PlayedRun played;
    played.run.one_way_ns = std::move(samples);
    return {{first, second}, {RunPlan{}}, {played}, "", false};
}

TEST(Table, ShowsMediansWithTheLowerCpuAsColumn) {
    const Samples near{10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
    const Samples far{99, 101, 99, 101, 99, 101, 99, 101, 99, 101};
    PairResult left_out = pair_of(2, 12, {});
    left_out.left_out = "CPU 12 is offline";
    const std::string text = table({pair_of(2, 0, far), pair_of(0, 1, near), left_out}, "cas");
    testing::expect_lines(
        text, {"Half a round trip in ns, method cas: median of both directions .*", "", "  CPU +0",
               "    1 +10\\.0\\+-0\\.0", "    2 +100\\.0\\+-1\\.0", "",
               "Least: 10\\.0 ns, CPUs 0 and 1", "Most: 100\\.0 ns, CPUs 0 and 2",
               "Rate: 18\\.182 million/s one way \\(harmonic mean of 20 samples, .*",
               "Left out: CPUs 2 and 12: CPU 12 is offline"});
}

TEST(Table, WithoutAnyPairOnlySaysWhatWasLeftOut) {
    PairResult left_out = pair_of(0, 1, {});
    left_out.left_out = "no";
    EXPECT_EQ(table({left_out}, "cas"), "Left out: CPUs 0 and 1: no\n");
}

TEST(Rate, IsTheHarmonicMeanOfTheSamplesRates) {
    // 10 and 40 ns in equal numbers: 100 and 25 million/s, whose harmonic mean is 40 million/s.
    Samples samples(30, 10.0);
    std::fill(samples.begin(), samples.begin() + 15, 40.0);
    const Rate rate = rate_per_s(samples);
    EXPECT_DOUBLE_EQ(rate.mean, 40e6);
    // The ends are those of the times: 25 ns -+ 2.0452 x 15 sqrt(30/29) / sqrt(30) ns.
    const double half_width = 2.0452 * 15.0 / std::sqrt(29.0);
    EXPECT_NEAR(rate.interval.low, 1e9 / (25.0 + half_width), 1e3);
    EXPECT_NEAR(rate.interval.high, 1e9 / (25.0 - half_width), 1e3);
}

TEST(Rate, HasNoUpperEndWhenTheTimesCouldBeNothing) {
    Samples samples(30, 1.0);
    samples[0] = 1e6;
    EXPECT_TRUE(std::isinf(rate_per_s(samples).interval.high));
}

TEST(JsonLines, TheFirstOneSaysByWhatIsMeasured) {
    Settings settings;
    settings.method = "store";
    settings.sampling.precision = 0.005;
    EXPECT_EQ(header_line(settings, 28, 25.5),
              R"({"pingpong":1,"method":"store","pause":false,"sample_ns":50000.0,)"
              R"("samples_least":30,"samples_most":300,"precision":0.005,"addresses":2,)"
              R"("seed":1,"pairs":28,"clock_ns":25.5})");
}

TEST(JsonLines, APairNamesForEachRunWhoBegan) {
    PlayedRun played;
    played.run.round_trips = 400;
    played.run.one_way_ns = {61.25, 1234567.0004};
    played.switches_of_thread = {1, 2};
    const PairResult result{{4, 9}, {{false, 1, 0}, {true, 0, 0}}, {played, played}, "", false};
    EXPECT_EQ(pair_line(result),
              R"({"cpus":[4,9],"runs":[{"from":9,"to":4,"address":1,"round_trips":400,)"
              R"("one_way_ns":[61.25,1234567.0],"switched":3},{"from":4,"to":9,"address":0,)"
              R"("round_trips":400,"one_way_ns":[61.25,1234567.0],"switched":3}]})");
}

TEST(JsonLines, APairThatWasLeftOutHasTheReason) {
    const PairResult result{{0, 1}, {}, {}, "no \"CPU\" 1\n\\", false};
    EXPECT_EQ(pair_line(result), R"({"cpus":[0,1],"left_out":"no \"CPU\" 1\n\\"})");
}

TEST(JsonLines, TheLastOneCounts) {
    EXPECT_EQ(end_line(27, 1, 12.3456),
              R"({"end":true,"measured":27,"left_out":1,"elapsed_s":12.346})");
}

}  // namespace
}  // namespace pinstudy::pingpong
