#include "apps/mandelbrot/lanes.hpp"

#include <algorithm>
#include <limits>

namespace pinstudy::mandelbrot {
namespace {

// An idle lane holds the point 0, which never moves.
constexpr std::int64_t kIdle = std::numeric_limits<std::int64_t>::max();

}  // namespace

Lanes::Lanes(double threshold) : peak_limit_(4.0 * threshold), next_deadline_(kIdle) {
    deadline_.fill(kIdle);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        free_[lane] = lane;
    }
}

void Lanes::add(const Point& point) {
    if (free_count_ == 0) {
        iterate_until_a_lane_is_free();
    }
    const std::size_t lane = free_[--free_count_];
    put(lane, point);
    deadline_[lane] = clock_ + kMaxIterations / kBlock;
    next_deadline_ = std::min(next_deadline_, deadline_[lane]);
}

void Lanes::finish() {
    while (free_count_ < kLanes) {
        iterate_until_a_lane_is_free();
    }
}

void Lanes::put(std::size_t lane, const Point& point) {
    const std::size_t vector = lane / kVectorLength;
    const std::size_t element = lane % kVectorLength;
    re_[vector][element] = c_re_[vector][element] = 2.0 * point.re;
    im_[vector][element] = c_im_[vector][element] = 2.0 * point.im;
    peak_[vector][element] = 0.0;
}

void Lanes::iterate_until_a_lane_is_free() {
    do {
        iterate_block();
        ++clock_;
    } while (clock_ != next_deadline_ && !any_outside());
    release_decided_lanes();
}

void Lanes::iterate_block() {
    Vectors re = re_;
    Vectors im = im_;
    Vectors peak = peak_;
    Vectors im_squared;
    for (std::size_t v = 0; v < kVectors; ++v) {
        im_squared[v] = im[v] * im[v];
    }
    for (std::int64_t iteration = 0; iteration < kBlock; ++iteration) {
        for (std::size_t v = 0; v < kVectors; ++v) {
            const Vector re_next = 0.5 * (re[v] * re[v] - im_squared[v]) + c_re_[v];
            im[v] = re[v] * im[v] + c_im_[v];
            re[v] = re_next;
            im_squared[v] = im[v] * im[v];
            const Vector size = re[v] * re[v] + im_squared[v];
            // In this order a NaN, to which a far point runs, leaves the peak as it is.
            peak[v] = size > peak[v] ? size : peak[v];
        }
    }
    re_ = re;
    im_ = im;
    peak_ = peak;
}

bool Lanes::any_outside() const {
    auto exceeded = peak_[0] > peak_limit_;
    for (std::size_t v = 1; v < kVectors; ++v) {
        exceeded |= peak_[v] > peak_limit_;
    }
    std::int64_t any = 0;
    for (std::size_t element = 0; element < kVectorLength; ++element) {
        any |= exceeded[element];
    }
    return any != 0;
}

void Lanes::release_decided_lanes() {
    next_deadline_ = kIdle;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const bool outside = peak_[lane / kVectorLength][lane % kVectorLength] > peak_limit_;
        if (outside || deadline_[lane] == clock_) {
            outside_ += outside ? 1 : 0;
            put(lane, Point{});
            deadline_[lane] = kIdle;
            free_[free_count_++] = lane;
        }
        next_deadline_ = std::min(next_deadline_, deadline_[lane]);
    }
}

}  // namespace pinstudy::mandelbrot
