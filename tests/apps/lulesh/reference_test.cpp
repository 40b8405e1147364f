// Published results of larger meshes.
#include "tests/apps/lulesh/published.hpp"

namespace pinstudy::lulesh {
namespace {

TEST(Reference, ReachesThePublishedResultOf20) {
    expect_published({20, 9999999, 575, "9.668856e+04"});
}

TEST(Reference, ReachesThePublishedResultOf30) {
    expect_published({30, 9999999, 932, "2.025075e+05"});
}

}  // namespace
}  // namespace pinstudy::lulesh
