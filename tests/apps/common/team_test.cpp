// A team has as many threads as asked for, all at once, and the caller is the first of them.
#include "apps/common/team.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

namespace pinstudy {
namespace {

TEST(Team, EachThreadIsItsOwnAndTheFirstIsTheCaller) {
    constexpr int kThreads = 4;
    std::vector<std::thread::id> ids(kThreads);
    std::barrier everybody(kThreads);  // returns only if all run at once
    run_team(kThreads, [&](int thread) {
        everybody.arrive_and_wait();
        ids[static_cast<std::size_t>(thread)] = std::this_thread::get_id();
    });
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), kThreads);
}

TEST(Team, OfOneIsTheCallerAlone) {
    int calls = 0;
    run_team(1, [&](int thread) { calls += thread + 1; });
    EXPECT_EQ(calls, 1);
}

#ifdef _OPENMP
TEST(Team, SaysWhenTheRuntimeGivesFewerThreads) {
    omp_set_dynamic(0);
    int inner = 0;
    std::string message;
    omp_set_max_active_levels(1);
    #pragma omp parallel num_threads(2)
    {
    #pragma omp single
        {
            try {
                run_team(2, [&](int) { ++inner; });
            } catch (const std::runtime_error& error) {
                message = error.what();
            }
        }
    }
    EXPECT_EQ(inner, 0);
    EXPECT_EQ(message, "the OpenMP runtime gave 1 of 2 threads");
}
#else
// In a process of its own: leaves it no address space for the stacks of so many threads.
void form_a_team_without_room() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    constexpr rlim_t kLeft = 64 << 20;
    const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kLeft;
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    std::atomic<int> begun{0};
    try {
        run_team(1000, [&](int) { ++begun; });
    } catch (const std::runtime_error& error) {
        const bool says_so = std::string(error.what()).find(" of 1000 threads") < 40;
        std::_Exit(says_so && begun == 0 ? 0 : 1);
    }
    std::_Exit(2);
}

TEST(Team, DoesNothingWhenTheSystemGivesFewerThreads) {
    EXPECT_EXIT(form_a_team_without_room(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace pinstudy
