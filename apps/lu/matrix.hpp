// The dense matrix that is reduced, as it lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace pinstudy::lu {

// Rows and columns are worked on in strips of this many: the doubles of one cache line.
inline constexpr std::int64_t kStrip = 8;

// A square matrix in one piece, row after row. Rows and columns are filled up with zeros to whole
// strips, so that every strip of every row is a cache line of its own and no loop has a remainder.
class Matrix {
  public:
    // Takes memory and leaves it untouched: whoever writes a page first decides where it lies.
    // Throws std::bad_alloc.
    explicit Matrix(std::int64_t size);

    // The memory that a matrix of this size takes.
    static double bytes(std::int64_t size);

    std::int64_t size() const { return size_; }
    std::int64_t strips() const { return strips_of(size_); }
    std::int64_t stride() const { return stride_; }  // doubles from a row to the next
    double* row(std::int64_t i) { return values_.get() + i * stride_; }
    const double* row(std::int64_t i) const { return values_.get() + i * stride_; }

  private:
    struct Free {
        void operator()(double* values) const { std::free(values); }
    };

    static std::int64_t strips_of(std::int64_t size) { return (size + kStrip - 1) / kStrip; }
    static std::int64_t stride_of(std::int64_t size);

    std::int64_t size_;
    std::int64_t stride_;
    std::unique_ptr<double, Free> values_;
};

}  // namespace pinstudy::lu
