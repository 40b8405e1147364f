// Columns are in line.
#include "apps/common/columns.hpp"

#include <gtest/gtest.h>

namespace pinstudy {
namespace {

TEST(Columns, AreAsWideAsTheirWidestCell) {
    EXPECT_EQ(in_columns({{"name", "ms"}, {"a long one", "1.25"}, {"b", "10.00"}}, 1),
              "name           ms\n"
              "a long one   1.25\n"
              "b           10.00\n");
}

TEST(Columns, EndWithoutBlanksAndMayBeShort) {
    EXPECT_EQ(in_columns({{"a", "b"}, {"c"}, {"d", ""}}, 2), "a  b\nc\nd\n");
    EXPECT_EQ(in_columns({}, 1), "");
}

TEST(Fixed, HasSoManyDigits) {
    EXPECT_EQ(fixed(1.005, 1), "1.0");
    EXPECT_EQ(fixed(2e5, 0), "200000");
}

}  // namespace
}  // namespace pinstudy
