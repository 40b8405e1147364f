// The program pingpong as its user meets it, on one CPU and on more.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "apps/common/affinity.hpp"
#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

const std::string kProgram = kProgramPath;
const Cpus kAllowed = allowed_cpus();
const std::string kFirst = std::to_string(kAllowed.front());
const std::string kLast = std::to_string(kAllowed.back());
const std::string kPair = kFirst + ":" + kLast;
const bool kTwo = kAllowed.size() > 1;

TEST(PingpongProgram, MeasuresAllPairsOrSaysWhyNot) {
    const ProgramResult result = run_program({kProgram, "--samples", "10", "--most", "10"});
    if (!kTwo) {
        EXPECT_EQ(result.exit_status, 2);
        return;
    }
    EXPECT_EQ(result.exit_status, 0) << result.error;
    find(result.output, "(Least: [0-9.]+ ns, CPUs [0-9]+ and [0-9]+)");
    find(result.output, "(Rate: [0-9.]+ million/s one way)");
}

TEST(PingpongProgram, OnOneCpuThereIsNoPair) {
    const ProgramResult result = run_on_one_cpu({kProgram});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(result.error,
              "pingpong: expected two CPUs or more, may use only CPU " + kFirst + "\n");
}

TEST(PingpongProgram, KeepsToTheCpusItWasGiven) {
    if (!kTwo) {
        GTEST_SKIP() << "needs two CPUs";
    }
    const ProgramResult result = run_on_one_cpu({kProgram, "--pairs", kPair});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(find(result.output, "Left out: .*: (.*)\n"),
              "CPU " + kLast + " is none of those that the process may use (" + kFirst + ")");
}

TEST(PingpongProgram, WritesJsonLinesAndGoesOnAfterAPairThatCannotBe) {
    if (!kTwo) {
        GTEST_SKIP() << "needs two CPUs";
    }
    const ProgramResult result =
        run_program({kProgram, "--pairs", kFirst + ":65535," + kPair, "--json-lines", "--samples",
                     "10", "--most", "10", "--addresses", "1"});
    EXPECT_EQ(result.exit_status, 0) << result.error;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 4);
    find(result.output, "(\\{\"pingpong\":1,\"method\":\"cas\")");
    find(result.output, "\"cpus\":\\[" + kFirst + ",65535\\],\"left_out\":\"(.*CPU 65535.*)\"");
    find(result.output, "(\"cpus\":\\[" + kFirst + "," + kLast + "\\],\"runs\":\\[.*\\]\\})");
    find(result.output, "(\\{\"end\":true,\"measured\":1,\"left_out\":1,)");
}

TEST(PingpongProgram, FailsWhenNoPairCanBeMeasured) {
    const ProgramResult result = run_program({kProgram, "--pairs", "65534:65535"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(result.error, "pingpong: none of the pairs could be measured\n");
}

TEST(PingpongProgram, ReadsPairsFromAFile) {
    const std::string path = ::testing::TempDir() + "pairs-" + kBuild;
    std::ofstream(path) << "65533:65535\n65534:65535\n";
    const ProgramResult result = run_program({kProgram, "--pairs-from", path});
    EXPECT_EQ(result.exit_status, 1);
    find(result.output, "Left out: CPUs (65533) and 65535");
    find(result.output, "Left out: CPUs (65534) and 65535");
    expect_user_error({kProgram, "--pairs-from", "/nowhere"},
                      {"--pairs-from", "'/nowhere' cannot be read"});
    expect_user_error({kProgram, "--pairs-from", "/dev/null"}, {"--pairs-from", "no pair"});
}

TEST(PingpongProgram, PlaysOnceAsATeam) {
    for (const char* method : {"cas", "store"}) {
        const ProgramResult result =
            run_program({kProgram, "--method", method, "--threads", "2", "--sample-us", "100"});
        EXPECT_EQ(result.exit_status, 0) << result.error;
        EXPECT_EQ(find(result.output, "Method: ([a-z]+),"), method);
        EXPECT_EQ(find(result.output, "\nSamples: ([0-9]+)\n"), "30");
        const double median = std::stod(find(result.output, "\nLatency median: ([0-9.]+) ns\n"));
        const double low = std::stod(find(result.output, "\nRate low: ([0-9]+) /s\n"));
        const double rate = std::stod(find(result.output, "\nRate: ([0-9]+) /s\n"));
        EXPECT_GT(median, 0.0);
        EXPECT_LE(low, rate);
        find(result.output, "\n(Check: passed) \\(the line counted [0-9]+ hand-overs");
    }
}

TEST(PingpongProgram, ATeamOnOneCpuEndsAndSaysSo) {
    const ProgramResult result = run_on_one_cpu({kProgram, "--threads", "2", "--sample-us", "100"});
    EXPECT_EQ(result.exit_status, 0) << result.error;
    find(result.output, "\n(Both threads were on one CPU [0-9]+ times: .*a context switch)");
}

TEST(PingpongProgram, ATeamPinsItself) {
    const ProgramResult result =
        run_program({kProgram, "--threads", "2", "--pin", kFirst + "," + kLast});
    EXPECT_EQ(result.exit_status, 0) << result.error;
    const ProgramResult wrong = run_program({kProgram, "--threads", "2", "--pin", "0,65535"});
    EXPECT_EQ(wrong.exit_status, 1);
    EXPECT_EQ(wrong.error, "pingpong: thread 1 cannot be pinned: CPUs 65535: Invalid argument\n");
}

TEST(PingpongProgram, ATeamChecksWhereItIs) {
    const ProgramResult right = run_on_one_cpu(
        {kProgram, "--threads", "2", "--sample-us", "10", "--expect", kFirst + "," + kFirst});
    EXPECT_EQ(right.exit_status, 0) << right.error;
    const ProgramResult wrong =
        run_on_one_cpu({kProgram, "--threads", "2", "--expect", kFirst + ",65535"});
    EXPECT_EQ(wrong.exit_status, 3);
    EXPECT_EQ(find(wrong.output, "(Check: FAILED .*)\n"),
              "Check: FAILED (thread 1 may run on CPU " + kFirst + ", not only on CPU 65535)");
}

TEST(PingpongProgram, RefusesWhatItCannotDo) {
    expect_user_error({kProgram, "--pairs", "0:0"}, {"--pairs", "'0:0' is one CPU"});
    expect_user_error({kProgram, "--pairs", "0-1"}, {"--pairs", "no pair of CPUs"});
    expect_user_error({kProgram, "--method", "load"}, {"--method", "cas or store"});
    expect_user_error({kProgram, "--precision", "1%"}, {"--precision", "from 0 to 1", "'1%'"});
    expect_user_error({kProgram, "--precision", "nan"}, {"--precision", "from 0 to 1"});
    expect_user_error({kProgram, "--samples", "3"}, {"--samples", "from 10 to 10000"});
    expect_user_error({kProgram, "--threads", "3"}, {"--threads", "2"});
    expect_user_error({kProgram, "--pin", "0,1"}, {"--pin", "--threads 2"});
    expect_user_error({kProgram, "--threads", "2", "--pin", "0"}, {"--pin", "2 threads, got 1"});
    expect_user_error({kProgram, "0:1"}, {"0:1", "--help"});
}

TEST(PingpongProgram, ExplainsItself) {
    expect_self_explaining(kProgram,
                           {"--pairs", "--method", "--precision", "--json-lines", "--pin"});
}

}  // namespace
}  // namespace pinstudy::testing
