// The loop's length, counted by the kernel: one step at a time.
#include "apps/yardstick/instructions.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace pinstudy::yardstick
