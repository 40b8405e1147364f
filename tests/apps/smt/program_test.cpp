// The program smt as its user meets it, on one CPU and on all.
#include <gtest/gtest.h>

#include "apps/common/affinity.hpp"
#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

const std::string kProgram = kProgramPath;

// Runs the program with small arrays.
ProgramResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {kProgram, "--items", "20000", "--rounds", "3"});
    return run_program(arguments);
}

TEST(SmtProgram, PrintsOneValueALine) {
    const ProgramResult result = run({"sin"});
    EXPECT_EQ(result.exit_status, 0) << result.output;
    EXPECT_EQ(result.error, "");
    expect_lines(result.output,
                 {R"(SMT: 2 threads, each with 20000 floats of its own \(78\.12 KiB\))",
                  "Work: sin", "CPUs: (any of )?[0-9,-]+", "Seen on CPUs: [0-9,-]+",
                  "Seen on another CPU than before: [0-9]+ times", "Rounds: 3",
                  R"(Thread, median: \d+\.\d{6} ms)", R"(Slowest thread, median: \d+\.\d{6} ms)",
                  R"(Slowest thread, standard deviation: \d+\.\d{6} ms)",
                  R"(Items, median: \d+ a thread and second)",
                  R"(Check: passed \(6 sums, as adding in order gives: sin -?\d+\.\d+\))"});
}

TEST(SmtProgram, WorksWithAnyNumberOfThreads) {
    for (const char* threads : {"1", "3"}) {
        EXPECT_EQ(run({"mixed", "--threads", threads}).exit_status, 0) << threads;
    }
}

TEST(SmtProgram, PinsItself) {
    const std::string cpu = std::to_string(allowed_cpus().back());
    const ProgramResult result = run({"accumulate", "--pin", cpu + "," + cpu});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "\nCPUs: (.*)"), cpu + "," + cpu);
    EXPECT_EQ(find(result.output, "Seen on CPUs: (.*)"), cpu);
}

TEST(SmtProgram, SaysInOneLineThatItCannotPinItself) {
    const std::string cpu = std::to_string(allowed_cpus().front());
    const ProgramResult result = run({"sin", "--pin", cpu + ",65535"});
    EXPECT_EQ(result.exit_status, 1);
    find(result.error, "^(smt: thread 1 cannot be pinned.*65535.*)\n$");
}

TEST(SmtProgram, ChecksWhereItWasPinnedFromOutside) {
    const std::string cpu = std::to_string(allowed_cpus().front());
    EXPECT_EQ(run_on_one_cpu({kProgram, "sin", "--items", "20000", "--expect", cpu + "," + cpu})
                  .exit_status,
              0);
    const ProgramResult wrong =
        run_on_one_cpu({kProgram, "sin", "--items", "20000", "--expect", cpu + ",65535"});
    EXPECT_EQ(wrong.exit_status, 3);
    EXPECT_EQ(find(wrong.output, "Check: (.*)"),
              "FAILED (thread 1 may run on CPU " + cpu + ", not only on CPU 65535)");
}

TEST(SmtProgram, RefusesWhatCannotBe) {
    expect_user_error({kProgram, "cos"}, {"WORK", "accumulate or sin or mixed", "'cos'"});
    expect_user_error({kProgram, "sin", "--pin", "0"}, {"--pin", "2 threads", "1"});
    expect_user_error({kProgram, "--threads", "1024", "--items", "4000000000"},
                      {"--items", "TiB of memory"});
}

TEST(SmtProgram, ExplainsItself) {
    expect_self_explaining(kProgram,
                           {"WORK", "--items", "--pin", "--expect", "pinstudy run affinity"});
}

}  // namespace
}  // namespace pinstudy::testing
