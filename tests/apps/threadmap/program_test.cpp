// The program threadmap as its user meets it, inside the CPUs that the tests may use.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "apps/common/affinity.hpp"
#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

const std::string kProgram = kProgramPath;
const bool kPthreads = std::string(kBuild) == "pthreads";
// Nothing that the tests' own environment may hold.
const std::map<std::string, std::string> kPlain = {
    {"OMP_PROC_BIND", "false"}, {"OMP_NUM_THREADS", "2"}, {"OMP_DYNAMIC", "false"}};

ProgramResult run(std::vector<std::string> arguments,
                  const std::map<std::string, std::string>& environment = kPlain) {
    arguments.insert(arguments.begin(), {kProgram, "--duration", "0.05"});
    return run_program(arguments, environment);
}

int count_lines(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    int count = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        count += std::regex_match(line, regex) ? 1 : 0;
    }
    return count;
}

std::string cpu(std::size_t i) {
    const Cpus allowed = allowed_cpus();
    return std::to_string(allowed[i % allowed.size()]);
}

TEST(ThreadmapProgram, EndsWithOneConcludingLineAndItsCheck) {
    const ProgramResult result = run({});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(count_lines(result.output, R"(Team: (bound|free|oversubscribed) \(.*\))"), 1);
    EXPECT_EQ(count_lines(result.output, R"(Check: passed \(.*\))"), 1);
    EXPECT_EQ(find(result.output, "Process: given CPUs ([^\n;]*)"), format_cpus(allowed_cpus()));
}

TEST(ThreadmapProgram, PutsAThreadOnEachCpu) {
    const ProgramResult result = run({});
    EXPECT_EQ(count_lines(result.output, R"(\d+ +got there)"),
              static_cast<int>(allowed_cpus().size()));
    EXPECT_EQ(count_lines(run({"--team-only"}).output, ".*got there"), 0);
}

TEST(ThreadmapProgram, PrintsTheNumbersThatStudiesRead) {
    const ProgramResult result = run({"--threads", "3", "--team-only"});
    EXPECT_EQ(find(result.output, "\nThreads: (\\d+)\n"), "3");
    EXPECT_LE(std::stoul(find(result.output, "\nCPUs used: (\\d+)\n")), allowed_cpus().size());
    EXPECT_GE(std::stoi(find(result.output, "\nMoves: (\\d+)\n")), 0);
    EXPECT_EQ(find(result.output, "\nThreads allowed one CPU: (\\d+)\n"),
              allowed_cpus().size() == 1 ? "3" : "0");
}

TEST(ThreadmapProgram, AThreadThatPinsItselfIsSeenOnItsCpuOnly) {
    const ProgramResult result = run({"--threads", "2", "--pin", cpu(0) + "," + cpu(0)});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(find(result.output, "\nCPUs used: (\\d+)\n"), "1");
    EXPECT_EQ(find(result.output, "\nMoves: (\\d+)\n"), "0");
    EXPECT_EQ(find(result.output, "\nThreads allowed one CPU: (\\d+)\n"), "2");
    EXPECT_NE(result.output.find("Team: oversubscribed (2 threads have 1 CPU: " + cpu(0) + ";"),
              std::string::npos);
    EXPECT_EQ(count_lines(result.output,
                          "Check: passed \\(each thread may run on the CPU assigned to it only\\)"),
              1);
}

TEST(ThreadmapProgram, TwoPinnedThreadsOnTwoCpusAreBound) {
    if (allowed_cpus().size() < 2) {
        GTEST_SKIP() << "needs two CPUs";
    }
    const ProgramResult result = run({"--threads", "2", "--pin", cpu(1) + "," + cpu(0)});
    EXPECT_EQ(find(result.output, "\nCPUs used: (\\d+)\n"), "2");
    EXPECT_EQ(find(result.output, "\nTeam: (\\w+) "), "bound");
}

TEST(ThreadmapProgram, TellsThePlacesThatTheRuntimeBindsTo) {
    if (kPthreads) {
        GTEST_SKIP() << "has no OpenMP runtime";
    }
    const std::string place = std::string("{").append(cpu(0)).append("}");
    const ProgramResult result =
        run({}, {{"OMP_PROC_BIND", "close"}, {"OMP_PLACES", place}, {"OMP_NUM_THREADS", "1"}});
    EXPECT_EQ(find(result.output, "\nPlaces: (.*)"), place);
    EXPECT_EQ(find(result.output, "proc_bind (\\w+)"), "close");
    EXPECT_EQ(find(result.output, "\n  OMP_PLACES=(.*)"), place);
    EXPECT_EQ(find(result.output, "\nTeam: (\\w+) "), "bound");
    // Bound before main() or not, the process was given all of them.
    EXPECT_EQ(find(result.output, "Process: given CPUs ([^\n;]*)"), format_cpus(allowed_cpus()));
}

TEST(ThreadmapProgram, AnExpectationThatDoesNotHoldFailsTheCheck) {
    if (allowed_cpus().size() < 2) {
        GTEST_SKIP() << "needs two CPUs";
    }
    const ProgramResult result = run({"--threads", "2", "--expect", cpu(0) + "," + cpu(1)});
    EXPECT_EQ(result.exit_status, 3);
    EXPECT_NE(result.output.find("Check: FAILED (thread 0 may run on CPUs " +
                                 format_cpus(allowed_cpus()) + ", not only on CPU " + cpu(0) + ")"),
              std::string::npos)
        << result.output;
}

TEST(ThreadmapProgram, FailsInOneLineWhereItCannotPin) {
    const ProgramResult result = run({"--threads", "1", "--pin", "65535"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(count_lines(result.error, "threadmap: thread 0 cannot be pinned: .*"), 1);
    EXPECT_EQ(count_lines(result.error, ".*"), 1);
}

TEST(ThreadmapProgram, PrintsJsonAloneOnDemand) {
    const ProgramResult result = run({"--json", "--threads", "2"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.output.front(), '{');
    EXPECT_EQ(result.output.substr(result.output.size() - 2), "}\n");
    for (const char* const key : {"process", "cgroup", "runtime", "environment", "team", "slices",
                                  "visited", "state", "each_cpu", "check"}) {
        EXPECT_NE(result.output.find(std::string("\"").append(key).append("\":")),
                  std::string::npos)
            << key;
    }
}

TEST(ThreadmapProgram, RefusesMistakesInOneLine) {
    expect_user_error({kProgram, "--duration", "0"}, {"--duration", "0.01 to 3600", "'0'"});
    expect_user_error({kProgram, "--duration", "fast"}, {"--duration", "'fast'"});
    expect_user_error({kProgram, "--threads", "-1"}, {"--threads"});
    expect_user_error({kProgram, "--threads", "2", "--pin", "0"}, {"--pin", "2 threads", "got 1"});
}

TEST(ThreadmapProgram, ExplainsItself) {
    expect_self_explaining(
        kProgram, {"--threads", "--duration", "--json", "--pin", "--expect", "--team-only"});
}

}  // namespace
}  // namespace pinstudy::testing
