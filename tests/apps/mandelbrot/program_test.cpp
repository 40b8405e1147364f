// The program mandelbrot as its user meets it.
#include <gtest/gtest.h>

#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

const std::string kProgram = kProgramPath;
const bool kSerial = std::string(kBuild) == "serial";

TEST(MandelbrotProgram, PrintsTheLinesOfOmpscr) {
    const ProgramResult result = run_program({kProgram, "100"}, {{"OMP_NUM_THREADS", "2"}});
    const std::string threads = kSerial ? "1" : "2";
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.error, "");
    expect_lines(
        result.output,
        {"",
         R"(This program is part of the OpenMP Source Code Repository \(OmpSCR\))",
         "",
         "Program:       " + kProgram,
         "Description:   Mandelbrot set area",
         "",
         "Argument NPOINTS 100",
         "Argument NUMTHREADS " + threads,
         "",
         R"(Running \.\.\.)",
         "",
         "",
         "\t# THREADS NPOINTS AREA \t\t\tERROR \t\tTIME \\(secs\\.\\)",
         "\t" + threads + " \t100 \t  1\\.462500000000   0\\.146250000000 \t[0-9]+\\.[0-9]{6}",
         "",
         "Timer Total_time [ 0-9]{5}\\.[0-9]{6}",
         "",
         "Points inside: 26",
         R"(Standard error: 0\.\d{6})",
         R"(Check: passed \(26 points inside.*\))"});
}

TEST(MandelbrotProgram, TakesADefaultForTest) {
    const ProgramResult result = run_program({kProgram, "-test"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "Argument NPOINTS (.*)"), "4092");
    EXPECT_NEAR(std::stod(find(result.output, "Points inside: (.*)")), 1081, 2);
}

TEST(MandelbrotProgram, FindsTheReferenceCountsForEveryThreadCountAndSchedule) {
    for (const char* threads : {"1", "2", "3", "8"}) {
        for (const char* schedule : {"static", "dynamic,16", "guided"}) {
            const ProgramResult result = run_program(
                {kProgram, "1000"}, {{"OMP_NUM_THREADS", threads}, {"OMP_SCHEDULE", schedule}});
            EXPECT_EQ(result.exit_status, 0) << threads << ' ' << schedule;
            EXPECT_EQ(find(result.output, "Points inside: (.*)"), "284");
        }
    }
}

TEST(MandelbrotProgram, IgnoresBlanksAroundTheNumber) {
    EXPECT_EQ(run_program({kProgram, " 100 "}).exit_status, 0);
}

TEST(MandelbrotProgram, RefusesWhatIsNoNumberOfPoints) {
    for (const char* text : {"0", "-5", "10x", "1e3", "", "2147483648"}) {
        expect_user_error({kProgram, text},
                          {"mandelbrot: NPOINTS: ", "a whole number from 1 to 2147483647"});
    }
    expect_user_error({kProgram}, {"NPOINTS", "-test"});
    expect_user_error({kProgram, "100", "-test"}, {"NPOINTS", "-test", "not both"});
    expect_user_error({kProgram, "100", "200"}, {"200"});
    expect_user_error({kProgram, "100", "--fast"}, {"--fast"});
    expect_user_error({kProgram, "100", "--escape", "3"}, {"--escape", "2 or 4", "'3'"});
    expect_user_error({kProgram, "100", "--escape"}, {"--escape"});
}

TEST(MandelbrotProgram, ExplainsItself) {
    expect_self_explaining(kProgram, {"NPOINTS", "-test", "--escape", "--version", "OMP_SCHEDULE"});
}

}  // namespace
}  // namespace pinstudy::testing
