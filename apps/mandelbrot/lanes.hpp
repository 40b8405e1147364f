// Iterates z -> z^2 + c for many points at once, each point as if it were alone.
//
// One point is a chain of dependent operations: a processor that computes it alone waits most of
// the time. Here several vectors of points are in flight, and a point that is decided gives its
// place (its lane) to the next one, so that the lanes stay busy.
#pragma once

#include <array>
#include <cstdint>

#include "apps/common/vector.hpp"
#include "apps/mandelbrot/points.hpp"

namespace pinstudy::mandelbrot {

inline constexpr std::int64_t kMaxIterations = 100000;

class Lanes {
  public:
    // A point is outside once |z|^2 > threshold within kMaxIterations iterations from z = c; the
    // starting value itself is not tested.
    explicit Lanes(double threshold);

    // Takes a point up; iterates those already in flight for as long as all lanes are busy.
    void add(const Point& point);

    // Iterates until every point is decided.
    void finish();

    // The number of decided points that are outside.
    std::int64_t outside() const { return outside_; }

  private:
    // Enough independent vectors to cover the latency of a multiplication with addition (4 cycles
    // on today's cores, twice per cycle, on a chain of three such operations).
    static constexpr std::size_t kVectors = 4;
    static constexpr std::size_t kLanes = kVectors * kVectorLength;
    // Lanes are inspected once per block of iterations; what happens to a point after it went
    // outside is not looked at.
    static constexpr std::int64_t kBlock = 32;
    static_assert(kMaxIterations % kBlock == 0);

    using Vectors = std::array<Vector, kVectors>;

    void iterate_block();
    bool any_outside() const;
    void iterate_until_a_lane_is_free();
    void release_decided_lanes();
    void put(std::size_t lane, const Point& point);

    // z and c are kept doubled: then 2 re im + ci is one multiplication with addition, and since
    // doubling is exact, every rounding is the one of the plain formula.
    Vectors re_{};
    Vectors im_{};
    Vectors c_re_{};
    Vectors c_im_{};
    Vectors peak_{};  // the largest |2z|^2 so far

    double peak_limit_;
    std::int64_t clock_ = 0;          // blocks iterated
    std::int64_t next_deadline_ = 0;  // when the first of the busy lanes has done its iterations
    std::array<std::int64_t, kLanes> deadline_{};
    std::array<std::size_t, kLanes> free_{};  // the first free_count_ entries are idle lanes
    std::size_t free_count_ = kLanes;
    std::int64_t outside_ = 0;
};

}  // namespace pinstudy::mandelbrot
