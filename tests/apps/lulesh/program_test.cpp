// The program lulesh as its user meets it.
#include <gtest/gtest.h>

#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

const std::string kProgram = kProgramPath;
const bool kSerial = std::string(kBuild) == "serial";

TEST(LuleshProgram, PrintsTheLinesOfTheOriginal) {
    const ProgramResult result =
        run_program({kProgram, "-s", "5"}, {{"OMP_NUM_THREADS", "2"}, {"OMP_DYNAMIC", "false"}});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.error, "");
    std::vector<std::string> lines{R"(Running problem size 5\^3 per domain until completion)",
                                   "Num processors: 1"};
    if (!kSerial) {
        lines.push_back("Num threads: 2");
    }
    for (const char* line :
         {"Total number of elements: 125 ",
          "",
          "To .*-s.*",
          "To .*-i.*",
          "To .*-b.*",
          "To .*-c.*",
          "To .*-p.*",
          "To .*-v.*",
          R"(See help \(-h\) for more options)",
          "",
          "Run completed:",
          "   Problem size        =  5",
          "   MPI tasks           =  1",
          "   Iteration count     =  72",
          R"(   Final Origin Energy =  7\.853665e\+03)",
          "   Testing Plane 0 of Energy Array on rank 0:",
          R"(        MaxAbsDiff   = \d\.\d{6}e[-+]\d\d)",
          R"(        TotalAbsDiff = \d\.\d{6}e[-+]\d\d)",
          R"(        MaxRelDiff   = \d\.\d{6}e[-+]\d\d)",
          "",
          R"(Elapsed time         = +[-+.0-9e]+ \(s\))",
          R"(Grind time \(us/z/c\)  = +[-+.0-9e]+ \(per dom\)  \( *[-+.0-9e]+ overall\))",
          R"(FOM                  = +[-+.0-9e]+ \(z/s\))",
          "",
          R"(Check: passed \(.*\))"}) {
        lines.emplace_back(line);
    }
    expect_lines(result.output, lines);
}

TEST(LuleshProgram, ReportsFiguresThatFitTogether) {
    const ProgramResult result = run_program({kProgram, "-s", "10", "-i", "50"});
    const double grind = std::stod(find(result.output, R"(Grind time \(us/z/c\)  = +(\S+))"));
    const double elapsed = std::stod(find(result.output, R"(\( *(\S+) overall\))"));
    const double fom = std::stod(find(result.output, R"(FOM                  = +(\S+))"));
    EXPECT_NEAR(grind * 1000 * 50 / 1e6, elapsed, 1e-6 * elapsed);
    EXPECT_NEAR(fom * grind, 1000.0, 1e-3);
}

TEST(LuleshProgram, SaysNothingWhenQuiet) {
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{"-q"}, std::vector<std::string>{"-q", "-p"}}) {
        std::vector<std::string> command{kProgram, "-s", "3"};
        command.insert(command.end(), options.begin(), options.end());
        const ProgramResult result = run_program(command);
        EXPECT_EQ(result.exit_status, 0);
        EXPECT_EQ(result.output, "");
        EXPECT_EQ(result.error, "");
    }
}

TEST(LuleshProgram, PrintsALineForEachCycleIfAsked) {
    const ProgramResult result = run_program({kProgram, "-s", "5", "-i", "2", "-p"});
    EXPECT_NE(result.output.find("\ncycle = 1, time = 3.417997e-04, dt=3.417997e-04\n"
                                 "cycle = 2, time = 7.519594e-04, dt=4.101597e-04\n"
                                 "Run completed:\n"),
              std::string::npos)
        << result.output;
}

TEST(LuleshProgram, StopsEarlyIfAsked) {
    const ProgramResult result = run_program({kProgram, "-s", "10", "-i", "10"});
    EXPECT_EQ(find(result.output, "Iteration count     =  (.*)"), "10");
    EXPECT_EQ(find(result.output, "Final Origin Energy =  (.*)"), "2.596764e+05");
    EXPECT_NE(find(result.output, R"(Check: passed \((.*)\))").find("no reference before"),
              std::string::npos);
}

TEST(LuleshProgram, PrintsTheSameResultForEveryTeamScheduleAndRegions) {
    const auto result_lines = [](const std::vector<std::string>& options,
                                 const std::map<std::string, std::string>& environment) {
        std::vector<std::string> command{kProgram, "-s", "4", "-i", "8"};
        command.insert(command.end(), options.begin(), options.end());
        const ProgramResult result = run_program(command, environment);
        EXPECT_EQ(result.exit_status, 0) << result.error;
        const auto begin = result.output.find("Run completed:");
        return result.output.substr(begin, result.output.find("Elapsed time") - begin);
    };
    const std::string expected = result_lines({}, {{"OMP_NUM_THREADS", "2"}});
    for (const char* threads : {"2", "3"}) {
        for (const char* schedule : {"static", "dynamic", "guided", "static,1"}) {
            EXPECT_EQ(result_lines({"-r", "5", "-b", "2", "-c", "3"},
                                   {{"OMP_NUM_THREADS", threads}, {"OMP_SCHEDULE", schedule}}),
                      expected);
        }
    }
}

TEST(LuleshProgram, RefusesNumbersOutOfRange) {
    expect_user_error({kProgram, "-s", "0"}, {"-s", "from 1 to 645", "'0'"});
    expect_user_error({kProgram, "-s", "646"}, {"-s", "645"});
    expect_user_error({kProgram, "-s", "99999999999999999999"}, {"-s", "645"});
    expect_user_error({kProgram, "-i", "0"}, {"-i", "from 1"});
    expect_user_error({kProgram, "-r", "0"}, {"-r", "from 1"});
    expect_user_error({kProgram, "-b", "-1"}, {"-b", "from 0"});
    expect_user_error({kProgram, "-c", "-1"}, {"-c", "from 0"});
    expect_user_error({kProgram, "-b", "31"}, {"-b", "k^31", "-r"});
}

TEST(LuleshProgram, RefusesWhatIsNoNumberAndWhatIsMissing) {
    for (const char* text : {"ten", "10x", "1.5", ""}) {
        expect_user_error({kProgram, "-s", text}, {"-s", "a whole number"});
    }
    for (const char* option : {"-s", "-i", "-r", "-b", "-c"}) {
        expect_user_error({kProgram, option}, {option});
    }
    expect_user_error({kProgram, "5"}, {"5"});
    expect_user_error({kProgram, "--size", "5"}, {"--size"});
}

TEST(LuleshProgram, RefusesWhatItCannotDo) {
    expect_user_error({kProgram, "-v"}, {"-v", "no files"});
    expect_user_error({kProgram, "-f", "3"}, {"-f", "no files"});
}

TEST(LuleshProgram, ExplainsItself) {
    expect_self_explaining(kProgram,
                           {"-s", "-i", "-r", "-b", "-c", "-p", "-q", "-v", "OMP_SCHEDULE"});
}

}  // namespace
}  // namespace pinstudy::testing
