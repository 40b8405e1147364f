// The program contention as its user meets it, on one CPU and on all.
#include <gtest/gtest.h>

#include "apps/common/affinity.hpp"
#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

const std::string kProgram = kProgramPath;

// Runs the program with few additions.
ProgramResult run(std::vector<std::string> arguments,
                  const std::map<std::string, std::string>& environment = {}) {
    arguments.insert(arguments.begin(), {kProgram, "--times", "2000", "--rounds", "5"});
    return run_program(arguments, environment);
}

std::string four_times(int cpu) {
    const std::string text = std::to_string(cpu);
    return text + "," + text + "," + text + "," + text;
}

TEST(ContentionProgram, PrintsOneValueALine) {
    const ProgramResult result = run({"integer"});
    EXPECT_EQ(result.exit_status, 0) << result.output;
    EXPECT_EQ(result.error, "");
    expect_lines(
        result.output,
        {"Contention: 4 threads, two a pair; each pair adds to one atomic",
         "Atomics: 2, 128 bytes apart", "Operation: integer: 2000 fetch-adds a thread and round",
         "CPUs: (any of )?[0-9,-]+", "Seen on CPUs: [0-9,-]+",
         "Seen on another CPU than before: [0-9]+ times", "Rounds: 5",
         R"(Round, median: \d+\.\d{6} ms)", R"(Round, mean: \d+\.\d{6} ms)",
         R"(Round, standard deviation: \d+\.\d{6} ms)", R"(Operation, median: \d+\.\d{4} ns)",
         R"(Check: passed \(12 sums, each of a pair in a round: 4000\))"});
}

TEST(ContentionProgram, TellsTheUpdatesThatFloatsLose) {
    const ProgramResult result = run({"float", "--same-line"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "Atomics: (.*)"), "2, all in one cache line (false sharing)");
    const double lost = std::stod(find(result.output, "Updates lost: (.*) %"));
    EXPECT_GE(lost, 0.0);
    EXPECT_LT(lost, 100.0);
}

TEST(ContentionProgram, MeasuresIntegersAsStartedUnlessToldOtherwise) {
    const ProgramResult result = run({});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "Operation: (.*)"),
              "integer: 2000 fetch-adds a thread and round");
}

TEST(ContentionProgram, OfOneRoundThereIsNoDeviation) {
    const ProgramResult result = run_program({kProgram, "--times", "2000", "--rounds", "1"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "Rounds: (.*)"), "1");
    EXPECT_EQ(result.output.find("standard deviation"), std::string::npos);
}

TEST(ContentionProgram, PinsItself) {
    const int cpu = allowed_cpus().back();
    const ProgramResult result = run({"integer", "--pin", four_times(cpu)});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "\nCPUs: (.*)"), four_times(cpu));
    EXPECT_EQ(find(result.output, "Seen on CPUs: (.*)"), std::to_string(cpu));
    EXPECT_EQ(find(result.output, "Seen on another CPU than before: (.*) times"), "0");
}

TEST(ContentionProgram, SaysInOneLineThatItCannotPinItself) {
    const std::string cpu = std::to_string(allowed_cpus().front());
    const ProgramResult result = run({"integer", "--threads", "2", "--pin", cpu + ",65535"});
    EXPECT_EQ(result.exit_status, 1);
    find(result.error, "^(contention: thread 1 cannot be pinned.*65535.*)\n$");
}

TEST(ContentionProgram, FindsThatItWasPinnedFromOutside) {
    const int cpu = allowed_cpus().front();
    const ProgramResult result =
        run_on_one_cpu({kProgram, "float", "--times", "2000", "--expect", four_times(cpu)});
    EXPECT_EQ(result.exit_status, 0) << result.output;
    EXPECT_EQ(find(result.output, "\nCPUs: (.*)"), four_times(cpu));
}

TEST(ContentionProgram, FailsItsCheckWhereItWasNotPinnedAsExpected) {
    const ProgramResult result = run_on_one_cpu({kProgram, "float", "--expect", "65535,0,0,0"});
    EXPECT_EQ(result.exit_status, 3);
    const std::string cpu = std::to_string(allowed_cpus().front());
    EXPECT_EQ(find(result.output, "Check: (.*)"),
              "FAILED (thread 0 may run on CPU " + cpu + ", not only on CPU 65535)");
    EXPECT_EQ(result.output.find("Round, median"), std::string::npos);
}

TEST(ContentionProgram, RefusesWhatCannotBe) {
    expect_user_error({kProgram, "double"}, {"OPERATION", "integer or float", "'double'"});
    expect_user_error({kProgram, "--threads", "3"}, {"--threads", "even"});
    expect_user_error({kProgram, "--same-line", "--threads", "34"}, {"--same-line", "32"});
    expect_user_error({kProgram, "integer", "--pin", "0,0"}, {"--pin", "4 threads", "2"});
    expect_user_error({kProgram, "--spacing", "32"}, {"--spacing", "128 or 64"});
    expect_user_error({kProgram, "--times", "99999999"}, {"--times", "8388608"});
}

TEST(ContentionProgram, ExplainsItself) {
    expect_self_explaining(
        kProgram, {"OPERATION", "--pin", "--expect", "--same-line", "pinstudy run affinity"});
}

}  // namespace
}  // namespace pinstudy::testing
