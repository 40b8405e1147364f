#include "tests/apps/common/run_program.hpp"

#include <gtest/gtest.h>

#include <system_error>

namespace pinstudy::testing {
namespace {

TEST(RunProgram, CatchesOutputErrorAndExitStatus) {
    const ProgramResult result =
        run_program({"/bin/sh", "-c", "echo out; echo \"$WORD\" >&2; exit 3"}, {{"WORD", "err"}});
    EXPECT_EQ(result.exit_status, 3);
    EXPECT_EQ(result.output, "out\n");
    EXPECT_EQ(result.error, "err\n");
}

TEST(RunProgram, TellsASignalFromAnExit) {
    EXPECT_EQ(run_program({"/bin/sh", "-c", "kill -9 $$"}).exit_status, 128 + 9);
}

TEST(RunProgram, ThrowsIfThereIsNoSuchProgram) {
    EXPECT_THROW(run_program({"/no/such/program"}), std::system_error);
}

}  // namespace
}  // namespace pinstudy::testing
