#include "apps/lu/matrix.hpp"

#include <gtest/gtest.h>

namespace pinstudy::lu {
namespace {

TEST(Matrix, BeginsEveryRowOnACacheLine) {
    for (const std::int64_t size : {1, 5, 8, 9, 500}) {
        Matrix matrix(size);
        for (std::int64_t i = 0; i < size; ++i) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix.row(i)) % 64, 0U) << size;
        }
    }
}

TEST(Matrix, KeepsRowsOffMultiplesOf4KiB) {
    for (const std::int64_t size : {512, 1024, 2048}) {
        Matrix matrix(size);
        EXPECT_NE((matrix.row(1) - matrix.row(0)) * 8 % 4096, 0) << size;
    }
}

TEST(Matrix, HasRoomForItsSizeAndWholeStrips) {
    EXPECT_EQ(Matrix(1).strips(), 1);
    EXPECT_EQ(Matrix(8).strips(), 1);
    EXPECT_EQ(Matrix(9).strips(), 2);
    EXPECT_EQ(Matrix::bytes(9), 16.0 * 16 * 8);
    EXPECT_EQ(Matrix::bytes(5000), 5000.0 * 5000 * 8);
}

}  // namespace
}  // namespace pinstudy::lu
