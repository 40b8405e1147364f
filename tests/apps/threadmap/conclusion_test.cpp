// One line says what a team is, the word that hurts most first. A team has too few CPUs exactly
// when some of its threads have fewer between them than they are.
#include "apps/threadmap/conclusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace pinstudy::threadmap {
namespace {

const Cpus kFour = {0, 1, 2, 3};

std::string line(const std::vector<Cpus>& masks, const Cpus& process = kFour) {
    TeamFacts facts;
    facts.masks = masks;
    facts.process = process;
    return conclude(facts).line();
}

TEST(Conclusion, OfATeamWithACpuEach) {
    EXPECT_EQ(line({{2}, {0}, {1}}), "Team: bound (each thread has a CPU of its own: 2,0-1)");
}

TEST(Conclusion, OfATeamWithDisjointSets) {
    EXPECT_EQ(line({{0, 1}, {2, 3}}), "Team: bound (each thread has CPUs of its own: {0-1} {2-3})");
}

TEST(Conclusion, OfATeamThatSharesSets) {
    EXPECT_EQ(line({{0, 1}, {0, 1}, {2, 3}, {2, 3}}),
              "Team: bound (4 threads are bound to 2 sets of CPUs: {0-1} {2-3})");
}

TEST(Conclusion, OfATeamBoundToOnePartOfTheProcessCpus) {
    EXPECT_EQ(line({{0, 1}, {0, 1}}), "Team: bound (2 threads are bound to 1 set of CPUs: {0-1})");
}

TEST(Conclusion, OfAFreeTeam) {
    EXPECT_EQ(line({kFour, kFour}),
              "Team: free (each thread may run on all 4 CPUs of the process: 0-3)");
}

TEST(Conclusion, OfATeamThatWasGivenMoreThanTheProcessIsFree) {
    EXPECT_EQ(line({kFour, kFour}, {1, 2}),
              "Team: free (each thread may run on all 2 CPUs of the process: 1-2)");
}

TEST(Conclusion, OfATeamThatIsBoundInPartIsFree) {
    EXPECT_EQ(line({kFour, {0}, {1}}),
              "Team: free (1 of 3 threads may run on all 4 CPUs of the process: 0-3)");
}

TEST(Conclusion, OfOneThreadOnTheOnlyCpuIsBound) {
    EXPECT_EQ(line({{0}}, {0}), "Team: bound (each thread has a CPU of its own: 0)");
}

TEST(Conclusion, MoreThreadsThanCpusAreOversubscribed) {
    EXPECT_EQ(line({{0, 1}, {0, 1}, {0, 1}}, {0, 1}),
              "Team: oversubscribed (3 threads have 2 CPUs: 0-1; each thread may run on all 2 CPUs "
              "of the process: 0-1)");
}

TEST(Conclusion, TwoThreadsBoundToOneCpuAreOversubscribed) {
    EXPECT_EQ(
        line({{0}, {1}, {1}}),
        "Team: oversubscribed (2 of 3 threads have 1 CPU: 1; each thread is bound to one CPU: "
        "0-1,1)");
}

TEST(Conclusion, MoreThreadsThanTheQuotaAreOversubscribed) {
    TeamFacts facts;
    facts.masks = {{0}, {1}};
    facts.process = kFour;
    facts.quota = 1.5;
    EXPECT_EQ(
        conclude(facts).line(),
        "Team: oversubscribed (2 threads share a quota of 1.50 CPUs; each thread has a CPU of "
        "its own: 0-1)");
    facts.quota = 2;
    EXPECT_EQ(conclude(facts).state, "bound");
}

TEST(Conclusion, LostTimeAndChangedMasksAreRemarked) {
    TeamFacts facts;
    facts.masks = {{0}, {1}};
    facts.process = kFour;
    facts.ran = 0.5;
    facts.masks_changed = 1;
    EXPECT_EQ(conclude(facts).line(),
              "Team: bound (each thread has a CPU of its own: 0-1; of 1 thread the allowed CPUs "
              "changed meanwhile; the threads ran 50 % of the time)");
}

TEST(Conclusion, ManySetsAreNotAllListed) {
    std::vector<Cpus> masks;
    for (int i = 0; i < 20; ++i) {
        masks.push_back({2 * i, 2 * i + 1});
    }
    EXPECT_NE(line(masks).find("{14-15} ...)"), std::string::npos) << line(masks);
}

using Masks = std::vector<Cpus>;

TEST(FindShortage, FindsNoneWhereEveryThreadCanHaveACpu) {
    EXPECT_TRUE(find_shortage({}).threads.empty());
    EXPECT_TRUE(find_shortage({{3}}).threads.empty());
    EXPECT_TRUE(find_shortage({{0, 1}, {0, 1}}).threads.empty());
    // The first thread must leave CPU 0, and the second CPU 1, for the third to have one.
    EXPECT_TRUE(find_shortage(Masks{{0, 1}, {1, 2}, {0}}).threads.empty());
}

TEST(FindShortage, NamesTheThreadsAndTheirCpus) {
    const Shortage shortage = find_shortage({{0, 1, 2}, {4}, {4}, {0, 1}});
    EXPECT_EQ(shortage.threads, (std::vector<int>{1, 2}));
    EXPECT_EQ(shortage.cpus, Cpus{4});
}

TEST(FindShortage, NamesEveryThreadThatHasNoOtherCpus) {
    const Shortage shortage = find_shortage({{0, 1}, {0, 1}, {0, 1}, {0, 1}});
    EXPECT_EQ(shortage.threads, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(shortage.cpus, (Cpus{0, 1}));
}

// Hall's condition itself, tried on every group of threads.
bool some_group_is_short(const Masks& masks) {
    for (unsigned group = 1; group < 1U << masks.size(); ++group) {
        std::set<int> cpus;
        std::size_t threads = 0;
        for (std::size_t i = 0; i < masks.size(); ++i) {
            if ((group >> i & 1U) != 0) {
                ++threads;
                cpus.insert(masks[i].begin(), masks[i].end());
            }
        }
        if (cpus.size() < threads) {
            return true;
        }
    }
    return false;
}

TEST(FindShortage, AgreesWithTryingEveryGroupOnRandomMasks) {
    std::mt19937 random(20200527);
    int shortages = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        Masks masks(1 + random() % 6);
        for (Cpus& mask : masks) {
            for (int cpu = 0; cpu < 6; ++cpu) {
                if (random() % 3 == 0) {
                    mask.push_back(cpu);
                }
            }
            if (mask.empty()) {
                mask.push_back(static_cast<int>(random() % 6));
            }
        }
        const Shortage shortage = find_shortage(masks);
        ASSERT_EQ(!shortage.threads.empty(), some_group_is_short(masks));
        if (shortage.threads.empty()) {
            continue;
        }
        ++shortages;
        EXPECT_GT(shortage.threads.size(), shortage.cpus.size());
        for (const int thread : shortage.threads) {
            for (const int cpu : masks[static_cast<std::size_t>(thread)]) {
                EXPECT_TRUE(std::binary_search(shortage.cpus.begin(), shortage.cpus.end(), cpu));
            }
        }
    }
    EXPECT_GT(shortages, 100);
    EXPECT_LT(shortages, 1900);
}

TEST(FindShortage, CopesWithALargeFreeTeam) {
    Cpus all(1000);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = static_cast<int>(i);
    }
    EXPECT_TRUE(find_shortage(Masks(1000, all)).threads.empty());
    EXPECT_EQ(find_shortage(Masks(1001, all)).threads.size(), 1001u);
}

}  // namespace
}  // namespace pinstudy::threadmap
