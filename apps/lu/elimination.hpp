// The dense matrix that is reduced, and Gaussian elimination without pivoting.
#pragma once

#include <cstdint>
#include <vector>

namespace pinstudy::lu {

// A square matrix, each row in memory of its own.
using Matrix = std::vector<std::vector<double>>;

// Before the reduction `m` is the matrix and `l` is zero. After it the upper triangle of `m`, with
// the diagonal, is U, and `l` below its diagonal is L, whose diagonal of ones is not stored. Below
// the diagonal of `m` stays what the last step left there.
struct Factors {
    // OmpSCR's matrix of n rows: 1 on the diagonal, 1 + i n + j elsewhere (i, j from 0). Throws
    // std::bad_alloc.
    explicit Factors(std::int64_t n);

    std::int64_t size() const { return static_cast<std::int64_t>(m.size()); }

    Matrix m;
    Matrix l;
};

// The memory that the factors of a matrix of n rows take, in bytes.
double memory_bytes(std::int64_t n);

// Rows are dealt out one by one in turn: those further down have as much work as those above.
inline constexpr int kRowsAtATime = 1;

// Reduces `factors.m` to its factors: for each column k, every row below k loses its multiple of
// row k. The team is formed anew in each step. Every element goes through the same operations in
// the same order, so that the result is the same to the last bit for every number of threads and
// every schedule.
void eliminate(Factors& factors);

}  // namespace pinstudy::lu
