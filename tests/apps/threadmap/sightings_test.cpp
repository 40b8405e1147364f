// Looks are counted where they were, and moves between them.
#include "apps/threadmap/sightings.hpp"

#include <gtest/gtest.h>

namespace pinstudy::threadmap {
namespace {

TEST(Sightings, CountLooksMovesAndSlices) {
    Sightings sightings(4);
    for (const int cpu : {5, 5, 2}) {
        sightings.add(cpu, 0);
    }
    sightings.add(5, 1);
    sightings.add(5, 3);
    EXPECT_EQ(sightings.looks(), 5);
    EXPECT_EQ(sightings.moves(), 2);
    EXPECT_EQ(sightings.first_cpu(), 5);
    EXPECT_EQ(sightings.last_cpu(), 5);
    const std::vector<Seen> cpus = sightings.cpus();
    ASSERT_EQ(cpus.size(), 2u);
    EXPECT_EQ(cpus[0].cpu, 2);
    EXPECT_EQ(cpus[0].looks, 1);
    EXPECT_EQ(cpus[1].cpu, 5);
    EXPECT_EQ(cpus[1].looks, 4);
    ASSERT_EQ(sightings.slices().size(), 4u);
    EXPECT_EQ(most_seen(sightings.slices()[0]), 5);
    EXPECT_EQ(sightings.slices()[0].size(), 2u);
    EXPECT_TRUE(sightings.slices()[2].empty());
    EXPECT_EQ(most_seen(sightings.slices()[2]), -1);
}

TEST(Sightings, OfAThreadThatStayedHaveNoMoves) {
    Sightings sightings(1);
    sightings.add(7, 0);
    sightings.add(7, 0);
    EXPECT_EQ(sightings.moves(), 0);
    EXPECT_EQ(sightings.cpus().size(), 1u);
}

}  // namespace
}  // namespace pinstudy::threadmap
