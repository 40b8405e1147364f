// The program lu as its user meets it.
#include <gtest/gtest.h>

#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

const std::string kProgram = kProgramPath;
const bool kSerial = std::string(kBuild) == "serial";

TEST(LuProgram, PrintsTheLinesOfOmpscr) {
    const ProgramResult result = run_program({kProgram, "50"}, {{"OMP_NUM_THREADS", "2"}});
    const std::string threads = kSerial ? "1" : "2";
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.error, "");
    expect_lines(
        result.output,
        {"", R"(This program is part of the OpenMP Source Code Repository \(OmpSCR\))", "",
         "Program:       " + kProgram, R"(Description:   LU reduction of a dense matrix\.)", "",
         "Argument size 50", "Argument NUMTHREADS " + threads, "", R"(Running \.\.\.)", "",
         "Timer EXE_TIME [ 0-9]{5}\\.[0-9]{6}", "", R"(Rate: \d+\.\d{3} Gflop/s)",
         R"(Check: passed \(largest relative deviation.*\))"});
}

TEST(LuProgram, TakesADefaultForTest) {
    const ProgramResult result = run_program({kProgram, "-test"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "Argument size (.*)"), "500");
}

TEST(LuProgram, PassesItsCheckForEveryThreadCountAndSchedule) {
    for (const char* size : {"1", "2", "8", "101"}) {
        for (const char* threads : {"1", "2", "3", "8"}) {
            for (const char* schedule : {"static,1", "dynamic", "guided"}) {
                const ProgramResult result = run_program(
                    {kProgram, size}, {{"OMP_NUM_THREADS", threads}, {"OMP_SCHEDULE", schedule}});
                EXPECT_EQ(result.exit_status, 0) << size << ' ' << threads << ' ' << schedule;
            }
        }
    }
}

TEST(LuProgram, RefusesWhatIsNoSize) {
    for (const char* text : {"0", "-5", "10x", "1e3", "", "1000001"}) {
        expect_user_error({kProgram, text}, {"lu: size: ", "a whole number from 1 to 1000000"});
    }
    expect_user_error({kProgram}, {"size", "-test"});
    expect_user_error({kProgram, "100", "-test"}, {"size", "-test", "not both"});
    expect_user_error({kProgram, "100", "200"}, {"200"});
    expect_user_error({kProgram, "100", "--fast"}, {"--fast"});
}

TEST(LuProgram, RefusesAMatrixThatDoesNotFitIntoMemory) {
    expect_user_error({kProgram, "1000000"}, {"lu: size needs 14.55 TiB", "this node has"});
}

TEST(LuProgram, ExplainsItself) {
    expect_self_explaining(kProgram, {"size", "-test", "--version", "OMP_SCHEDULE"});
}

}  // namespace
}  // namespace pinstudy::testing
