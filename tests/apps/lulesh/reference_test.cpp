// Published results of larger meshes, with one thread: what a team adds to the time is no matter
// here.
#ifdef _OPENMP
    #include <omp.h>
#endif

#include "tests/apps/lulesh/published.hpp"

namespace pinstudy::lulesh {
namespace {

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
