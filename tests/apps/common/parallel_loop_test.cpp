// Every iteration is done once, by whom the schedule says.
#include "apps/common/parallel_loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tests/apps/common/openmp.hpp"

namespace pinstudy {
namespace {

TEST(ParallelLoop, DoesEveryIterationOnceUnderEveryTeamAndSchedule) {
    testing::for_every_team_and_schedule([](const std::string& how) {
        for (const int count : {0, 1, 2, 7, 100}) {
            std::vector<std::atomic<int>> done(static_cast<std::size_t>(count) + 5);
            parallel_loop(5, count + 5, [&](int i) { ++done[static_cast<std::size_t>(i)]; });
            parallel_loop<1>(5, count + 5, [&](int i) { ++done[static_cast<std::size_t>(i)]; });
            for (int i = 0; i < count + 5; ++i) {
                EXPECT_EQ(done[static_cast<std::size_t>(i)], i < 5 ? 0 : 2)
                    << i << " of " << count << ", " << how;
            }
        }
    });
}

#ifdef _OPENMP
// Which thread of three does each of six iterations.
template <int kChunk>
std::vector<int> deal() {
    std::vector<int> threads(6);
    const int before = omp_get_max_threads();
    omp_set_num_threads(3);
    parallel_loop<kChunk>(0, 6,
                          [&](int i) { threads[static_cast<std::size_t>(i)] = thread_number(); });
    omp_set_num_threads(before);
    return threads;
}

TEST(ParallelLoop, DealsBlocksOrOneByOneAsTheProgramSays) {
    unsetenv("OMP_SCHEDULE");
    default_to_static_schedule(0);
    EXPECT_EQ(deal<0>(), (std::vector<int>{0, 0, 1, 1, 2, 2}));
    default_to_static_schedule(1);
    EXPECT_EQ(deal<1>(), (std::vector<int>{0, 1, 2, 0, 1, 2}));
}

TEST(ParallelLoop, DealsAsTheUserSaysInstead) {
    omp_set_schedule(omp_sched_static, 1);
    EXPECT_EQ(deal<0>(), (std::vector<int>{0, 1, 2, 0, 1, 2}));
    omp_set_schedule(omp_sched_static, 2);
    EXPECT_EQ(deal<1>(), (std::vector<int>{0, 0, 1, 1, 2, 2}));
}
#endif

}  // namespace
}  // namespace pinstudy
