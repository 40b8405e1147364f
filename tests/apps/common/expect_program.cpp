#include "tests/apps/common/expect_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <thread>

#include "apps/common/affinity.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {

void expect_user_error(const std::vector<std::string>& command,
                       const std::vector<std::string>& words) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    for (const std::string& word : words) {
        EXPECT_NE(result.error.find(word), std::string::npos)
            << "'" << word << "' is missing in: " << result.error;
    }
}

void expect_self_explaining(const std::string& program, const std::vector<std::string>& words) {
    const ProgramResult help = run_program({program, "--help"});
    EXPECT_EQ(help.exit_status, 0);
    for (const std::string& word : words) {
        EXPECT_NE(help.output.find(word), std::string::npos) << word;
    }
    const ProgramResult version = run_program({program, "--version"});
    EXPECT_EQ(find(version.output, "build: (.*)"), kBuild);
}

ProgramResult run_on_one_cpu(const std::vector<std::string>& command) {
    ProgramResult result;
    // A program inherits the CPUs of the thread that starts it.
    std::thread([&] {
        allow_thread(0, {allowed_cpus().front()});
        result = run_program(command);
    }).join();
    return result;
}

void expect_lines(const std::string& output, const std::vector<std::string>& patterns) {
    std::istringstream lines(output);
    std::string line;
    for (const std::string& pattern : patterns) {
        ASSERT_TRUE(std::getline(lines, line)) << "no line for: " << pattern;
        EXPECT_TRUE(std::regex_match(line, std::regex(pattern)))
            << "line:    '" << line << "'\npattern: '" << pattern << "'";
    }
}

std::string find(const std::string& text, const std::string& pattern) {
    std::smatch match;
    if (!std::regex_search(text, match, std::regex(pattern))) {
        ADD_FAILURE() << "'" << pattern << "' is missing in:\n" << text;
        return {};
    }
    return match[1];
}

}  // namespace pinstudy::testing
