// The CPU of each thread as the command line gives it.
#include "apps/common/assigned_cpus.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace pinstudy {
namespace {

class Assigned : public ::testing::Test {
  protected:
    // The calling thread keeps its CPUs: what pins does so in a thread of its own.
    void parse(const std::vector<std::string>& arguments) {
        Options options("program", "Does something.", "1");
        cpus_.add_options(options);
        ASSERT_EQ(options.parse(arguments), std::nullopt);
    }

    const int first_ = allowed_cpus().front();
    AssignedCpus cpus_;
};

TEST_F(Assigned, NothingIsDoneOrExpectedWithoutThem) {
    parse({});
    EXPECT_EQ(cpus_.why_not(4), "");
    EXPECT_EQ(cpus_.take(3), "");
    EXPECT_EQ(cpus_.violation(3), "");
}

TEST_F(Assigned, AThreadPinsItself) {
    parse({"--pin", "65535," + std::to_string(first_)});
    std::string refused;
    std::string taken;
    std::string violation;
    Cpus now;
    std::thread([&] {
        refused = cpus_.take(0);
        taken = cpus_.take(1);
        violation = cpus_.violation(1);
        now = allowed_cpus();
    }).join();
    EXPECT_EQ(refused, "thread 0 cannot be pinned: CPUs 65535: Invalid argument");
    EXPECT_EQ(taken, "");
    EXPECT_EQ(violation, "");
    EXPECT_EQ(now, Cpus{first_});
}

TEST_F(Assigned, AThreadChecksWhereItMayRun) {
    const std::string first = std::to_string(first_);
    parse({"--expect", first + ",65535"});
    std::string right;
    std::string wrong;
    std::thread([&] {
        allow_this_thread({first_});
        right = cpus_.violation(0);
        wrong = cpus_.violation(1);
    }).join();
    EXPECT_EQ(right, "");
    EXPECT_EQ(wrong, "thread 1 may run on CPU " + first + ", not only on CPU 65535");
}

TEST_F(Assigned, EveryThreadNeedsOne) {
    parse({"--pin", "0,1"});
    EXPECT_EQ(cpus_.why_not(2), "");
    EXPECT_EQ(cpus_.why_not(4), "--pin: expected a CPU for each of 4 threads, got 2");
}

TEST_F(Assigned, AreTakenOrExpectedButNotBoth) {
    parse({"--pin", "0", "--expect", "0"});
    EXPECT_EQ(cpus_.why_not(1), "--pin, --expect: expected one of them, not both");
}

}  // namespace
}  // namespace pinstudy
