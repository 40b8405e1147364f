// Threads are where the command line puts them, and where they were seen is told.
#include "apps/common/placement.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace pinstudy {
namespace {

class Assigned : public ::testing::Test {
  protected:
    // The calling thread keeps its CPUs: what pins does so in a thread of its own.
    void parse(const std::vector<std::string>& arguments) {
        Options options("program", "Does something.");
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
        allow_thread(0, {first_});
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

TEST(AllowedText, TellsPinnedThreadsFromOthers) {
    const Cpus before = allowed_cpus();
    Team::lead(2, [&](Team& team) {
        EXPECT_EQ(allowed_text(team), before.size() == 1
                                          ? format_cpus(before) + "," + format_cpus(before)
                                          : "any of " + format_cpus(before));
        const int first = before.front();
        const int last = before.back();
        team.round([&](int thread) { pin_this_thread(thread == 0 ? last : first); });
        EXPECT_EQ(allowed_text(team), std::to_string(last) + "," + std::to_string(first));
        team.round([&](int thread) { allow_thread(0, thread == 0 ? before : Cpus{first}); });
        if (before.size() > 1) {
            EXPECT_EQ(allowed_text(team), "within " + format_cpus(before));
        }
        // A runtime keeps its threads for the next team.
        team.round([&](int) { allow_thread(0, before); });
        return 0;
    });
}

TEST(SeenCpus, CountAThreadThatIsSeenElsewhereThanBefore) {
    SeenCpus seen(2);
    seen.add({{1.0, 0, 0}, {1.0, 1, 2}});
    seen.add({{1.0, 0, 0}, {1.0, 2, 1}});
    seen.add({{1.0, 3, 3}, {1.0, 1, 1}});
    EXPECT_EQ(seen.moves(), 3);
    EXPECT_EQ(seen.cpus(), (std::set<int>{0, 1, 2, 3}));
    EXPECT_EQ(seen.lines(), "Seen on CPUs: 0-3\nSeen on another CPU than before: 3 times\n");
}

}  // namespace
}  // namespace pinstudy
