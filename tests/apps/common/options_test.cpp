#include "apps/common/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "apps/common/affinity.hpp"
#include "apps/common/program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy {
namespace {

struct Outcome {
    std::optional<int> exit_status;
    std::int64_t size = 0;
    std::string output;
    std::string error;
};

Outcome parse_size(const std::vector<std::string>& arguments) {
    Outcome outcome;
    outcome.size = 30;
    Options options("program", "Does something.");
    options.integer("-s,--size", outcome.size, 1, 1000, "Elements along an edge");
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    outcome.exit_status = options.parse(arguments);
    outcome.output = ::testing::internal::GetCapturedStdout();
    outcome.error = ::testing::internal::GetCapturedStderr();
    return outcome;
}

void expect_user_error(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& words) {
    const Outcome outcome = parse_size(arguments);
    EXPECT_EQ(outcome.exit_status, 2);
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
    EXPECT_EQ(outcome.error.rfind("program: ", 0), 0U) << outcome.error;
    for (const std::string& word : words) {
        EXPECT_NE(outcome.error.find(word), std::string::npos)
            << "'" << word << "' is missing in: " << outcome.error;
    }
}

TEST(Options, KeepTheirDefault) {
    const Outcome outcome = parse_size({});
    EXPECT_EQ(outcome.exit_status, std::nullopt);
    EXPECT_EQ(outcome.size, 30);
}

TEST(Options, AcceptTheWholeRange) {
    EXPECT_EQ(parse_size({"-s", "1"}).size, 1);
    EXPECT_EQ(parse_size({"--size=1000"}).size, 1000);
}

TEST(Options, AreDecimalAndIgnoreBlanksAround) {
    EXPECT_EQ(parse_size({"-s", " 010\t"}).size, 10);
}

TEST(Options, RejectWhatIsNoWholeNumber) {
    for (const char* text : {"abc", "10x", "1.5", "", " ", "0x10", "1e2", "+5", "1 2"}) {
        expect_user_error({"-s", text}, {"-s", "a whole number from 1 to 1000"});
    }
}

TEST(Options, RejectWhatIsOutOfRange) {
    for (const char* text : {"0", "-5", "1001", "99999999999999999999"}) {
        expect_user_error({"-s", text}, {"-s", "a whole number from 1 to 1000", text});
    }
}

TEST(Options, RejectAMissingValue) {
    expect_user_error({"-s"}, {"-s"});
}

TEST(Options, RejectAnUnknownOption) {
    expect_user_error({"--speed"}, {"--speed", "--help"});
}

TEST(Options, RejectAnExtraArgument) {
    expect_user_error({"7"}, {"7"});
}

TEST(Options, ExplainThemselves) {
    for (const char* option : {"-h", "--help"}) {
        const Outcome outcome = parse_size({option});
        EXPECT_EQ(outcome.exit_status, 0);
        EXPECT_NE(outcome.output.find("--size"), std::string::npos);
        EXPECT_NE(outcome.output.find("30"), std::string::npos) << "the default is not shown";
        EXPECT_EQ(outcome.error, "");
    }
}

TEST(Options, VersionTellsHowTheProgramWasBuilt) {
    const Outcome outcome = parse_size({"--version"});
    EXPECT_EQ(outcome.exit_status, 0);
    const std::string build = std::string("build: ") + testing::kBuild;
    for (const std::string& word :
         std::vector<std::string>{build, "compiler: ", "flags: ", "-O", "openmp: "}) {
        EXPECT_NE(outcome.output.find(word), std::string::npos) << word;
    }
}

struct Positional {
    std::optional<int> exit_status;
    std::int64_t points = 7;
    double share = 0.5;
    bool fast = false;
    std::string error;
};

Positional parse_positional(const std::vector<std::string>& arguments) {
    Positional result;
    Options options("program", "Does something.");
    options.integer("points", result.points, 1, 100, "Number of points");
    options.real("--share", "SHARE", result.share, 0, 1, "Share");
    options.flag("--fast", result.fast, "Be fast");
    ::testing::internal::CaptureStderr();
    result.exit_status = options.parse(arguments);
    result.error = ::testing::internal::GetCapturedStderr();
    return result;
}

TEST(Options, TakePositionalArguments) {
    EXPECT_EQ(parse_positional({"55"}).points, 55);
    EXPECT_EQ(parse_positional({"--share", "1", " 55 "}).points, 55);
}

TEST(Options, NameThePositionalArgumentThatIsNegative) {
    const Positional result = parse_positional({"-5"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_NE(result.error.find("points: expected a whole number from 1 to 100, got '-5'"),
              std::string::npos)
        << result.error;
}

TEST(Options, TakeNumbersOfARange) {
    EXPECT_EQ(parse_positional({}).share, 0.5);
    EXPECT_EQ(parse_positional({"--share", "0.25"}).share, 0.25);
    for (const char* text : {"-0.1", "1.01", "nan", "1%", ""}) {
        const Positional result = parse_positional({"--share", text});
        EXPECT_EQ(result.exit_status, 2) << text;
        EXPECT_NE(result.error.find("--share: expected a number from 0 to 1, got '"),
                  std::string::npos)
            << result.error;
    }
}

TEST(Options, TakeFlags) {
    EXPECT_TRUE(parse_positional({"--fast"}).fast);
    EXPECT_FALSE(parse_positional({}).fast);
}

struct Words {
    std::optional<int> exit_status;
    std::string method = "cas";
    Cpus cpus;
    std::string error;
};

Words parse_words(const std::vector<std::string>& arguments) {
    Words words;
    Options options("program", "Does something.");
    options.word("-m,--method", words.method, {"cas", "store"}, "How");
    options.text(
        "--cpus", "LIST", [&](const std::string& text) { words.cpus = parse_cpus(text); }, "Where");
    ::testing::internal::CaptureStderr();
    words.exit_status = options.parse(arguments);
    words.error = ::testing::internal::GetCapturedStderr();
    return words;
}

TEST(Options, TakeOneOfSomeWords) {
    EXPECT_EQ(parse_words({}).method, "cas");
    EXPECT_EQ(parse_words({"-m", "store"}).method, "store");
    const Words wrong = parse_words({"--method", "load"});
    EXPECT_EQ(wrong.exit_status, 2);
    EXPECT_EQ(wrong.error,
              "program: -m,--method: expected cas or store, got 'load' (see --help)\n");
}

TEST(Options, TakeTextsAsTheyAreUnderstood) {
    EXPECT_EQ(parse_words({}).cpus, Cpus{});
    EXPECT_EQ(parse_words({"--cpus", "3,0-1"}).cpus, (Cpus{3, 0, 1}));
    const Words wrong = parse_words({"--cpus", "0-"});
    EXPECT_EQ(wrong.exit_status, 2);
    EXPECT_EQ(wrong.error,
              "program: --cpus: '0-' is no list of CPUs; expected one such as 0,2,4-6 "
              "(see --help)\n");
}

TEST(Options, RejectTheSameOptionTwice) {
    EXPECT_EQ(parse_positional({"--share", "1", "--share", "0"}).exit_status, 2);
}

}  // namespace
}  // namespace pinstudy
