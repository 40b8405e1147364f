// Looks are counted where they were, and moves between them.
#include "apps/threadmap/team.hpp"

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
    EXPECT_EQ(sightings.looks, 5);
    EXPECT_EQ(sightings.moves, 2);
    EXPECT_EQ(sightings.first_cpu, 5);
    EXPECT_EQ(sightings.last_cpu, 5);
    EXPECT_EQ(sightings.cpus(), (Looks{{2, 1}, {5, 4}}));
    EXPECT_EQ(sightings.slices, (std::vector<Looks>{{{2, 1}, {5, 2}}, {{5, 1}}, {}, {{5, 1}}}));
}

}  // namespace
}  // namespace pinstudy::threadmap
