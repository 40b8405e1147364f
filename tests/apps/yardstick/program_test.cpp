// The program yardstick as `pinstudy prove` reads it.
#include <gtest/gtest.h>

#include "apps/common/affinity.hpp"
#include "apps/yardstick/work.hpp"
#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

ProgramResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kProgramPath);
    return run_program(arguments, {{"OMP_DYNAMIC", "false"}});
}

double number(const ProgramResult& result, const std::string& pattern) {
    return std::stod(find(result.output, pattern));
}

TEST(YardstickProgram, PrintsTheAdditionsThatItWasAskedFor) {
    const ProgramResult result = run({"chain", "--amount", "1000050", "--threads", "2"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "Additions: (\\d+)\n"), "2000000");
    if (yardstick::loop_is_exact()) {
        EXPECT_EQ(find(result.output, "Instructions: (\\d+)\n"), "2040000");
    }
    EXPECT_GT(number(result, "Adding: ([0-9.]+) s of CPU time\n"), 0);
}

TEST(YardstickProgram, AddsForATime) {
    const ProgramResult result = run({"chain", "--seconds", "0.05"});
    EXPECT_GE(number(result, "Elapsed: ([0-9.]+) s\n"), 0.05);
    EXPECT_GT(number(result, "Additions: (\\d+)\n"), 0);
    EXPECT_EQ(find(run({"chain", "--seconds", "0"}).output, "Additions: (\\d+)\n"), "0");
}

TEST(YardstickProgram, SplitsItsTimeBetweenTwoCpus) {
    const ProgramResult result = run({"split", "--seconds", "0.2", "--share", "0.25"});
    const double sum = number(result, "First CPU \\d+: .*, (\\d+) additions\n") +
                       number(result, "Last CPU \\d+: .*, (\\d+) additions\n");
    EXPECT_EQ(number(result, "\nAdditions: (\\d+)\n"), sum);
    EXPECT_EQ(run({"split", "--other", "65535"}).exit_status, 1);
}

TEST(YardstickProgram, CountsItsMovesSleepsAndReads) {
    if (allowed_cpus().size() > 1) {
        EXPECT_EQ(find(run({"move", "--amount", "9"}).output, "Moves: (\\d+)\n"), "9");
    }
    const ProgramResult sleeper = run({"sleep", "--amount", "5"});
    EXPECT_EQ(find(sleeper.output, "Sleeps: (\\d+)\n"), "5");
    EXPECT_GT(number(sleeper, "Left the CPU: (\\d+) times\n"), 0);
    EXPECT_EQ(find(run({"chase", "--amount", "1000"}).output, "Reads: (\\d+)\n"), "1000");
    EXPECT_GE(number(run({"idle", "--seconds", "0.05"}), "Elapsed: ([0-9.]+) s\n"), 0.05);
}

TEST(YardstickProgram, RefusesWhatItDoesNotKnow) {
    EXPECT_EQ(run({"dance"}).exit_status, 2);
    EXPECT_EQ(run({"chain", "--share", "2"}).exit_status, 2);
    EXPECT_EQ(run({"chase", "--bytes", "1000000000000"}).exit_status, 2);
}

}  // namespace
}  // namespace pinstudy::testing
