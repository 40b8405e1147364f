#include "apps/common/openmp.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#ifdef _OPENMP
    #include <omp.h>
#endif

namespace pinstudy {
namespace {

TEST(Team, OutsideOfAParallelRegionIsOneThread) {
    EXPECT_EQ(thread_number(), 0);
}

#ifdef _OPENMP

struct Schedule {
    int kind;
    int chunk;
};

Schedule schedule_in_force() {
    omp_sched_t kind{};
    int chunk = 0;
    omp_get_schedule(&kind, &chunk);
    // The runtime may set the modifier bit "monotonic", which changes nothing for static.
    return {static_cast<int>(kind) & 0xff, chunk};
}

TEST(Schedule, DefaultsToStaticWithTheProgramsChunk) {
    unsetenv("OMP_SCHEDULE");
    default_to_static_schedule(1);
    EXPECT_EQ(schedule_in_force().kind, omp_sched_static);
    EXPECT_EQ(schedule_in_force().chunk, 1);
    EXPECT_TRUE(schedule_is_static(1));
    EXPECT_FALSE(schedule_is_static(0));
}

TEST(Schedule, StaticWithoutAChunkHasChunkZero) {
    unsetenv("OMP_SCHEDULE");
    default_to_static_schedule(0);
    EXPECT_TRUE(schedule_is_static(0));
    EXPECT_FALSE(schedule_is_static(1));
}

TEST(Schedule, IsTheUsersIfTheUserSaysSo) {
    omp_set_schedule(omp_sched_guided, 3);  // what the runtime did with OMP_SCHEDULE at start-up
    setenv("OMP_SCHEDULE", "guided,3", 1);
    default_to_static_schedule(1);
    unsetenv("OMP_SCHEDULE");
    EXPECT_EQ(schedule_in_force().kind, omp_sched_guided);
    EXPECT_EQ(schedule_in_force().chunk, 3);
    EXPECT_FALSE(schedule_is_static(3));
}

#else

TEST(Schedule, WithoutOpenMPThereIsOneThread) {
    default_to_static_schedule(1);
    EXPECT_TRUE(schedule_is_static(0));
    EXPECT_EQ(max_threads(), 1);
}

#endif

}  // namespace
}  // namespace pinstudy
