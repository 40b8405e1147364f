// Lists of CPUs are read as users write them, and a pinned thread is where it says.
#include "apps/common/affinity.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace pinstudy {
namespace {

TEST(ParseCpus, KeepsTheOrderAndRepeats) {
    EXPECT_EQ(parse_cpus("3,0-2,3"), (Cpus{3, 0, 1, 2, 3}));
    EXPECT_EQ(parse_cpus("7"), Cpus{7});
}

TEST(ParseCpus, RefusesWhatIsNoListOfCpus) {
    for (const char* text : {"", ",", "1,", "a", "-1", "1-", "3-2", "1 2", "65536", "0-99999999999",
                             "1--2", "0x1", "+1"}) {
        EXPECT_THROW(parse_cpus(text), std::invalid_argument) << text;
    }
}

TEST(FormatCpus, MakesRangesOfFollowingNumbersOnly) {
    EXPECT_EQ(format_cpus({0, 1, 2, 5}), "0-2,5");
    EXPECT_EQ(format_cpus({1, 0, 0}), "1,0,0");
    EXPECT_EQ(format_cpus({}), "");
}

TEST(Affinity, APinnedThreadIsAllowedThatCpuAndRunsThere) {
    const Cpus before = allowed_cpus();
    ASSERT_FALSE(before.empty());
    const int cpu = before.back();
    std::thread([cpu] {
        EXPECT_EQ(pin_this_thread(cpu), "");
        EXPECT_EQ(allowed_cpus(), Cpus{cpu});
        EXPECT_EQ(current_cpu(), cpu);
    }).join();
    EXPECT_EQ(allowed_cpus(), before);
}

TEST(Affinity, ACpuThatIsNotThereIsAReasonAndChangesNothing) {
    const Cpus before = allowed_cpus();
    EXPECT_NE(pin_this_thread(65535), "");
    EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace pinstudy
