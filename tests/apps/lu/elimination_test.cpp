#include "apps/lu/elimination.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "tests/apps/common/openmp.hpp"

namespace pinstudy::lu {
namespace {

double start_value(std::int64_t n, std::int64_t i, std::int64_t j) {
    return i == j ? 1.0 : static_cast<double>(1 + i * n + j);
}

// U, and L below its diagonal, in one matrix.
Matrix eliminated(std::int64_t n) {
    Factors factors(n);
    eliminate(factors);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            factors.m[i][j] = factors.l[i][j];
        }
    }
    return factors.m;
}

// The three loops of the textbook.
Matrix eliminated_by_definition(std::int64_t n) {
    const auto size = static_cast<std::size_t>(n);
    Matrix a(size, std::vector<double>(size));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = start_value(n, i, j);
        }
    }
    for (std::size_t k = 0; k < size; ++k) {
        for (std::size_t i = k + 1; i < size; ++i) {
            a[i][k] /= a[k][k];
            for (std::size_t j = k + 1; j < size; ++j) {
                a[i][j] -= a[i][k] * a[k][j];
            }
        }
    }
    return a;
}

void expect_same_bits(const Matrix& left, const Matrix& right, const std::string& what) {
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
        for (std::size_t j = 0; j < left[i].size(); ++j) {
            ASSERT_EQ(std::bit_cast<std::uint64_t>(left[i][j]),
                      std::bit_cast<std::uint64_t>(right[i][j]))
                << what << ", element " << i << ' ' << j;
        }
    }
}

TEST(Elimination, StartsFromTheMatrixOfOmpscr) {
    const Factors factors(3);
    EXPECT_EQ(factors.m, (Matrix{{1, 2, 3}, {4, 1, 6}, {7, 8, 1}}));
    EXPECT_EQ(factors.l, (Matrix(3, std::vector<double>(3))));
}

// OmpSCR 2.0 c_lu prints these factors, with one decimal, for n = 5.
TEST(Elimination, FactorsTheMatrixOfSize5) {
    const Matrix expected{{1, 2, 3, 4, 5},
                          {6, -11, -10, -15, -20},
                          {11, 0.9, -22.9, -16.4, -21.8},
                          {16, 1.4, 0.7, -30.9, -17.1},
                          {21, 1.8, 1.0, 0.6, -37.3}};
    const Matrix factors = eliminated(5);
    for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 5; ++j) {
            EXPECT_NEAR(factors[i][j], expected[i][j], 0.0501) << i << ' ' << j;
        }
    }
}

TEST(Elimination, MultipliedOutGivesTheMatrixAgain) {
    for (const std::int64_t n : {1, 2, 7, 8, 9, 16, 17, 40}) {
        const Matrix lu = eliminated(n);
        for (std::size_t i = 0; i < lu.size(); ++i) {
            for (std::size_t j = 0; j < lu.size(); ++j) {
                double product = i <= j ? lu[i][j] : 0.0;
                double magnitude = std::abs(product);
                for (std::size_t k = 0; k < std::min(i, j + 1); ++k) {
                    product += lu[i][k] * lu[k][j];
                    magnitude += std::abs(lu[i][k] * lu[k][j]);
                }
                const double expected =
                    start_value(n, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
                EXPECT_NEAR(product, expected, 1e-14 * magnitude) << n << ": " << i << ' ' << j;
            }
        }
    }
}

TEST(Elimination, DoesTheTextbooksOperationsInTheTextbooksOrder) {
    for (std::int64_t n = 1; n <= 40; ++n) {
        expect_same_bits(eliminated(n), eliminated_by_definition(n), "n = " + std::to_string(n));
    }
    for (const std::int64_t n : {63, 64, 65, 265, 288, 513}) {
        expect_same_bits(eliminated(n), eliminated_by_definition(n), "n = " + std::to_string(n));
    }
}

TEST(Elimination, LeavesTheDiagonalAndTheUpperTriangleOfLAlone) {
    Factors factors(6);
    eliminate(factors);
    for (std::int64_t i = 0; i < 6; ++i) {
        for (std::int64_t j = i; j < 6; ++j) {
            EXPECT_EQ(factors.l[i][j], 0.0) << i << ' ' << j;
        }
    }
}

TEST(Elimination, IsTheSameToTheLastBitForEveryTeamAndSchedule) {
    for (const std::int64_t n : {5, 30, 100}) {
        const Matrix expected = eliminated_by_definition(n);
        testing::for_every_team_and_schedule([&](const std::string& how) {
            expect_same_bits(eliminated(n), expected, how + ", n = " + std::to_string(n));
        });
    }
}

}  // namespace
}  // namespace pinstudy::lu
