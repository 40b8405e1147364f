// A thread that changes its CPU: as often as it says, and nowhere it may not be.
#include "apps/yardstick/places.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "apps/common/affinity.hpp"

namespace pinstudy::yardstick {
namespace {

TEST(Places, MovesAsOftenAsItIsAsked) {
    const Cpus cpus = allowed_cpus();
    if (cpus.size() < 2) {
        GTEST_SKIP() << "needs two CPUs";
    }
    // A thread of its own: the masks of the others stay as they are.
    std::int64_t moved = -1;
    int last = -1;
    std::thread([&] {
        go_to(cpus.front());
        moved = move_to_and_fro(cpus.front(), cpus.back(), 7);
        last = current_cpu();
    }).join();
    EXPECT_EQ(moved, 7);
    EXPECT_EQ(last, cpus.back());
}

TEST(Places, ACpuThatIsNotThereIsAnError) {
    EXPECT_THROW(go_to(4095), std::runtime_error);
}

}  // namespace
}  // namespace pinstudy::yardstick
