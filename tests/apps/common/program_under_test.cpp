#include "tests/apps/common/program_under_test.hpp"

namespace pinstudy::testing {

const char* const kProgramPath = PINSTUDY_PROGRAM;
const char* const kBuild = PINSTUDY_BUILD;

}  // namespace pinstudy::testing
