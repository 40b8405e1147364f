// A team has too few CPUs exactly when some of its threads have fewer between them than they are.
#include "apps/threadmap/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace pinstudy::threadmap {
namespace {

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
