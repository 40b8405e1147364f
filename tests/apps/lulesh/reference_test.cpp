// Published results of larger meshes; of the largest with one thread, for what a team adds to the
// time is no matter there.
#ifdef _OPENMP
    #include <omp.h>
#endif

#include "tests/apps/lulesh/published.hpp"

namespace pinstudy::lulesh {
namespace {

TEST(ReferenceOfATeam, ReachesThePublishedResults) {
    expect_published({10, 9999999, 231, "2.720531e+04"});
    expect_published({15, 9999999, 400, "5.702894e+04"});
    expect_published({20, 100, 100, "3.919028e+05"});
}

class Reference : public ::testing::Test {
  protected:
    Reference() {
#ifdef _OPENMP
        omp_set_num_threads(1);
#endif
    }
};

TEST_F(Reference, ReachesThePublishedResultOf20) {
    expect_published({20, 9999999, 575, "9.668856e+04"});
}

#ifndef _OPENMP
TEST_F(Reference, ReachesThePublishedResultOf30) {
    expect_published({30, 9999999, 932, "2.025075e+05"});
}
#endif

}  // namespace
}  // namespace pinstudy::lulesh
