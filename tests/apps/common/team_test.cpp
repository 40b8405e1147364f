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

#include "apps/common/affinity.hpp"

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

TEST(Rounds, EveryThreadDoesItsPartOfEachOnce) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 50;
    std::vector<int> turns(kThreads);
    Team::lead(kThreads, [&](Team& team) {
        for (int i = 0; i < kRounds; ++i) {
            team.round([&](int thread) { ++turns[static_cast<std::size_t>(thread)]; });
            EXPECT_EQ(turns, std::vector<int>(kThreads, i + 1));
        }
        return 0;
    });
}

TEST(Rounds, NobodyBeginsBeforeAllHaveCome) {
    std::atomic<int> begun{0};
    Team::lead(3, [&](Team& team) {
        for (int i = 0; i < 20; ++i) {
            begun = 0;
            team.round([&](int) {
                ++begun;
                // Ends only because the others begin as well.
                while (begun < 3) {
                    std::this_thread::yield();
                }
            });
        }
        return 0;
    });
    EXPECT_EQ(begun, 3);
}

TEST(Rounds, TellHowLongEachThreadWorkedSinceTheRelease) {
    Team::lead(2, [](Team& team) {
        double inside = 0;
        const std::vector<Turn> turns = team.round([&](int thread) {
            std::this_thread::sleep_for(std::chrono::milliseconds(thread == 0 ? 1 : 20));
            if (thread == 1) {
                inside = team.since_release();
            }
        });
        EXPECT_GE(turns[0].seconds, 0.001);
        EXPECT_GE(turns[1].seconds, 0.020);
        EXPECT_GE(turns[1].seconds, inside);
        EXPECT_GE(inside, 0.020);
        return 0;
    });
}

TEST(Rounds, GoOnWhenAllThreadsShareOneCpu) {
    const Cpus before = allowed_cpus();
    Team::lead(4, [&](Team& team) {
        team.round([&](int) { pin_this_thread(before.front()); });
        for (int i = 0; i < 20; ++i) {
            const std::vector<Turn>& turns = team.round([](int) {});
            for (const Turn& turn : turns) {
                EXPECT_EQ(turn.first_cpu, before.front());
                EXPECT_EQ(turn.last_cpu, before.front());
            }
        }
        // A runtime keeps its threads for the next team.
        team.round([&](int) { allow_thread(0, before); });
        return 0;
    });
    EXPECT_EQ(allowed_cpus(), before);
}

TEST(LeadTeam, ReturnsWhatTheLeaderReturnsAndThrowsWhatItThrows) {
    EXPECT_EQ(Team::lead(2, [](Team& team) { return team.threads(); }), 2);
    EXPECT_EQ(Team::lead(1, [](Team& team) { return team.threads(); }), 1);
    EXPECT_THROW(Team::lead(2, [](Team&) -> int { throw std::runtime_error("enough"); }),
                 std::runtime_error);
}

}  // namespace
}  // namespace pinstudy
