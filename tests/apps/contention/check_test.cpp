// Sums that cannot be are found, sums that can be are not.
#include "apps/contention/experiment.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pinstudy::contention {
namespace {

Verdict verdict_on(Operation operation, std::int64_t times, std::initializer_list<double> sums) {
    Check check(operation, times);
    for (const double sum : sums) {
        check.look(sum);
    }
    return check.verdict();
}

TEST(Check, OfIntegersIsExact) {
    EXPECT_TRUE(verdict_on(Operation::integer, 100, {200, 200}).passed);
    EXPECT_FALSE(verdict_on(Operation::integer, 100, {200, 199}).passed);
    EXPECT_FALSE(verdict_on(Operation::integer, 100, {201}).passed);
}

TEST(Check, OfFloatsAllowsWhatTwoThreadsCanMakeOfEachOther) {
    for (const double possible : {2.0, 3.0, 150.0, 200.0}) {
        EXPECT_TRUE(verdict_on(Operation::real, 100, {possible}).passed) << possible;
    }
    for (const double impossible : {0.0, 1.0, 100.5, 201.0}) {
        EXPECT_FALSE(verdict_on(Operation::real, 100, {impossible}).passed) << impossible;
    }
}

// Two threads whose steps are interleaved in every order, at two additions each.
void interleave(int next[2], float seen[2], float sum, std::set<float>& sums) {
    bool done = true;
    for (const int thread : {0, 1}) {
        if (next[thread] == 4) {
            continue;
        }
        done = false;
        int after[2] = {next[0], next[1]};
        float loaded[2] = {seen[0], seen[1]};
        const bool loads = after[thread]++ % 2 == 0;
        if (loads) {
            loaded[thread] = sum;
        }
        interleave(after, loaded, loads ? sum : loaded[thread] + 1.0F, sums);
    }
    if (done) {
        sums.insert(sum);
    }
}

TEST(Check, OfFloatsHasTheBoundsThatEveryInterleavingShows) {
    int next[2] = {0, 0};
    float seen[2] = {0, 0};
    std::set<float> sums;
    interleave(next, seen, 0, sums);
    EXPECT_EQ(sums, (std::set<float>{2, 3, 4}));
}

TEST(Check, OfOneAdditionMayLoseOne) {
    EXPECT_TRUE(verdict_on(Operation::real, 1, {1.0}).passed);
    EXPECT_FALSE(verdict_on(Operation::real, 1, {0.0}).passed);
}

TEST(Check, SaysWhatWasExpectedAndFound) {
    EXPECT_EQ(verdict_on(Operation::integer, 100, {200}).reason,
              "1 sum, each of a pair in a round: 200");
    EXPECT_EQ(verdict_on(Operation::real, 100, {200, 0.5, 1}).reason,
              "2 of 3 sums are not a whole number from 2 to 200; the first one is 0.5");
}

TEST(Check, OfNothingFails) {
    EXPECT_FALSE(verdict_on(Operation::integer, 100, {}).passed);
}

TEST(Check, TellsTheShareOfAdditionsThatWereLost) {
    Check check(Operation::real, 100);
    EXPECT_EQ(check.lost_share(), 0.0);
    check.look(200);
    check.look(100);
    EXPECT_DOUBLE_EQ(check.lost_share(), 0.25);
}

}  // namespace
}  // namespace pinstudy::contention
