// The reference counts of the larger runs.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/apps/common/expect_program.hpp"
#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {
namespace {

struct Reference {
    const char* points;
    const char* escape;
    double inside;
};

void PrintTo(const Reference& reference, std::ostream* stream) {
    *stream << reference.inside << " inside";
}

class MandelbrotReference : public ::testing::TestWithParam<Reference> {};

TEST_P(MandelbrotReference, CountIsMet) {
    const Reference& reference = GetParam();
    const ProgramResult result =
        run_program({kProgramPath, reference.points, "--escape", reference.escape});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_NEAR(std::stod(find(result.output, "Points inside: (.*)")), reference.inside, 2);
}

// With threshold 2: OmpSCR 2.0 c_mandel with the GNU C library. With threshold 4: the three members
// that it loses among 50000 points are kept.
INSTANTIATE_TEST_SUITE_P(
    Ompscr, MandelbrotReference,
    ::testing::Values(Reference{"8192", "2", 2176}, Reference{"10000", "2", 2674},
                      Reference{"50000", "2", 13362}, Reference{"100000", "2", 26499},
                      Reference{"50000", "4", 13365}),
    [](const auto& test) {
        return std::string(test.param.points) + "PointsThreshold" + test.param.escape;
    });

}  // namespace
}  // namespace pinstudy::testing
