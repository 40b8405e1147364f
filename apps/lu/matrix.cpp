#include "apps/lu/matrix.hpp"

#include <new>

namespace pinstudy::lu {
namespace {

constexpr std::size_t kCacheLine = 64;
static_assert(kStrip * sizeof(double) == kCacheLine);

}  // namespace

std::int64_t Matrix::stride_of(std::int64_t size) {
    // Rows a multiple of 4 KiB apart would all compete for the same few places of the caches.
    constexpr std::int64_t kAliasing = 4096 / sizeof(double);
    const std::int64_t padded = strips_of(size) * kStrip;
    return padded % kAliasing == 0 ? padded + kStrip : padded;
}

double Matrix::bytes(std::int64_t size) {
    return static_cast<double>(strips_of(size) * kStrip) * static_cast<double>(stride_of(size)) *
           sizeof(double);
}

Matrix::Matrix(std::int64_t size) : size_(size), stride_(stride_of(size)) {
    const auto bytes = static_cast<std::size_t>(strips() * kStrip * stride_) * sizeof(double);
    values_.reset(static_cast<double*>(std::aligned_alloc(kCacheLine, bytes)));
    if (values_ == nullptr) {
        throw std::bad_alloc();
    }
}

}  // namespace pinstudy::lu
