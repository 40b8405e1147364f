// The dense matrix that is reduced, and what it is reduced to.
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

}  // namespace pinstudy::lu
