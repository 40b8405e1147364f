// The placements that this machine can do, whichever it is.
#include "apps/common/node_placements.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace pinstudy {
namespace {

TEST(NodePlacements, AreAllThereThePossibleOnesInTheAllowedCpus) {
    const Cpus allowed = allowed_cpus();
    const NodePlacements node = node_placements("", allowed, 1, kAllPlacements);
    ASSERT_GE(node.possible.size(), 2U);
    EXPECT_EQ(node.possible[0].name, kAsStarted);
    EXPECT_EQ(node.possible[0].cpus, Cpus{});
    EXPECT_EQ(node.possible[1].name, "same-cpu");
    for (std::size_t i = 1; i < node.possible.size(); ++i) {
        ASSERT_EQ(node.possible[i].cpus.size(), 2U) << node.possible[i].name;
        for (const int cpu : node.possible[i].cpus) {
            EXPECT_TRUE(std::binary_search(allowed.begin(), allowed.end(), cpu));
        }
    }
    for (const Placement& placement : node.left_out) {
        EXPECT_NE(placement.why_not, "") << placement.name;
    }
    EXPECT_EQ(node.possible.size() + node.left_out.size() + 1, placement_words().size());
}

TEST(NodePlacements, OneCanBePicked) {
    const NodePlacements node = node_placements("", allowed_cpus(), 1, "same-cpu");
    ASSERT_EQ(node.possible.size(), 1U);
    EXPECT_EQ(node.possible[0].name, "same-cpu");
    EXPECT_TRUE(node.left_out.empty());
}

TEST(NodePlacements, OneThatIsNotPossibleIsRefusedWithTheReason) {
    try {
        node_placements("", {allowed_cpus().front()}, 1, "cores");
        FAIL() << "two cores in one CPU";
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(
            error.what(),
            "--placement: cores is not possible here: 1 pair needs 2 cores; 1 can be used");
    }
}

TEST(KindsText, NamesEachKindOnce) {
    Topology topology;
    topology.cores = {{{0, 1}, "P", 0, -1}, {{2}, "E", 0, -1}, {{3}, "", 0, -1}};
    EXPECT_EQ(kinds_text(topology, {0, 2, 1, 2}), "P+E");
    EXPECT_EQ(kinds_text(topology, {2, 0}), "E+P");
    EXPECT_EQ(kinds_text(topology, {3, 9}), "-");
}

}  // namespace
}  // namespace pinstudy
