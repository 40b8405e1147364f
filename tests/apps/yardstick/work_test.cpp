// The loop's length, counted by the kernel, one step at a time; the walk through memory comes to
// every place, once a round; a thread changes its CPU as often as it says.
#include "apps/yardstick/work.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <stdexcept>
#include <thread>

#include "apps/common/affinity.hpp"

namespace pinstudy::yardstick {
namespace {

// How many instructions a child executes between two stops, with so many turns of the loop there;
// -1 where processes may not be traced.
int steps_with(std::int64_t turns) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        run_loop(turns);
        raise(SIGUSR1);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP) {
        return -1;
    }
    int steps = 0;
    for (;;) {
        if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) {
            steps = -1;
            break;
        }
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
            break;
        }
        ++steps;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return steps;
}

TEST(Instructions, ATurnIsAsLongAsTheSourceSays) {
    if (!loop_is_exact()) {
        GTEST_SKIP() << "the loop is not written in this processor's instructions";
    }
    const int ten = steps_with(10);
    if (ten < 0) {
        GTEST_SKIP() << "no process may be traced here";
    }
    EXPECT_EQ(steps_with(30) - ten, 20 * kInstructions);
}

TEST(Instructions, NoTurnIsNoTurn) {
    run_loop(0);
    run_loop(-1);
}

TEST(Chase, ComesToEveryPlaceBeforeItIsBack) {
    const Chase chase(64 * 1024);
    ASSERT_EQ(chase.places(), 256U);
    std::set<std::uint64_t> seen;
    for (int steps = 1; steps <= 256; ++steps) {
        seen.insert(chase.walk(steps));
    }
    EXPECT_EQ(seen.size(), 256U);
    EXPECT_EQ(chase.walk(256), 0U);
    EXPECT_EQ(chase.walk(0), 0U);
}

TEST(Chase, GoesInNoOrderThatAProcessorGuesses) {
    const Chase chase(1024 * 1024);
    int following = 0;
    for (int steps = 1; steps < 1000; ++steps) {
        const auto here = static_cast<std::int64_t>(chase.walk(steps));
        const auto next = static_cast<std::int64_t>(chase.walk(steps + 1));
        following += next - here == static_cast<std::int64_t>(Chase::kSpacing / 8) ? 1 : 0;
    }
    EXPECT_LT(following, 10);
}

TEST(Chase, HasTwoPlacesAtLeast) {
    EXPECT_EQ(Chase(0).places(), 2U);
}

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
