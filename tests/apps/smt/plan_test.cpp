// Every work is done alone on each CPU that it is later done on beside another.
#include "apps/smt/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pinstudy::smt {
namespace {

std::vector<std::string> names(const Settings& settings, const NodePlacements& node) {
    std::vector<std::string> names;
    for (const Planned& planned : plan(settings, node)) {
        names.push_back(planned.name);
    }
    return names;
}

NodePlacements hybrid() {
    NodePlacements node;
    node.possible = {
        {"as-started", {}, ""}, {"siblings", {0, 1}, ""}, {"across-kinds", {0, 8}, ""}};
    return node;
}

TEST(Plan, HasEachCpuAloneOnce) {
    Settings settings;
    settings.work = "sin";
    EXPECT_EQ(names(settings, hybrid()),
              (std::vector<std::string>{"sin/alone/as-started", "sin/alone/cpu-0",
                                        "sin/alone/cpu-1", "sin/alone/cpu-8", "sin/as-started",
                                        "sin/siblings", "sin/across-kinds"}));
}

TEST(Plan, OfMixedWorkHasBothAlone) {
    Settings settings;
    settings.work = "mixed";
    NodePlacements node;
    node.possible = {{"siblings", {4, 5}, ""}};
    EXPECT_EQ(
        names(settings, node),
        (std::vector<std::string>{"accumulate/alone/cpu-4", "sin/alone/cpu-4",
                                  "accumulate/alone/cpu-5", "sin/alone/cpu-5", "mixed/siblings"}));
}

TEST(Plan, LetsOneThreadWorkWhileTheOthersSleep) {
    const auto planned = plan(Settings(), hybrid());
    const auto alone = std::find_if(planned.begin(), planned.end(), [](const Planned& one) {
        return one.name == "sin/alone/cpu-8";
    });
    ASSERT_NE(alone, planned.end());
    EXPECT_EQ(alone->cpus, (Cpus{8, 8}));
    EXPECT_EQ(alone->works, (Works{Work::sin, std::nullopt}));
}

TEST(Works, OfMixedAlternate) {
    EXPECT_EQ(works_of("mixed", 3), (Works{Work::accumulate, Work::sin, Work::accumulate}));
    EXPECT_EQ(works_of("sin", 2), (Works{Work::sin, Work::sin}));
    EXPECT_EQ(works_of("accumulate", 1), (Works{Work::accumulate}));
}

}  // namespace
}  // namespace pinstudy::smt
