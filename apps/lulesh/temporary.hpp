// Memory that one step of the algorithm needs: taken when the step begins, given back when it ends.
//
// It could be allocated once. But what malloc and the kernel do for it, cycle after cycle, is a
// part of this workload, on which the placement of threads acts as on the rest.
#pragma once

#include <memory>

#include "apps/lulesh/geometry.hpp"

namespace pinstudy::lulesh {

// An array of doubles without initial values.
using Temporary = std::unique_ptr<double[]>;

inline Temporary temporary(std::int64_t size) {
    return std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(size));
}

// A vector for each corner of each element.
class CornerTemporary {
  public:
    explicit CornerTemporary(Index elements)
        : x_(temporary(std::int64_t{kCorners} * elements)),
          y_(temporary(std::int64_t{kCorners} * elements)),
          z_(temporary(std::int64_t{kCorners} * elements)) {}

    // `corner` counts through all elements: kCorners * element + corner of the element.
    Vec3 at(Index corner) const { return {x_[corner], y_[corner], z_[corner]}; }

    Corners of_element(Index element) const {
        Corners corners;
        for (int i = 0; i < kCorners; ++i) {
            corners.set(i, at(kCorners * element + i));
        }
        return corners;
    }

    void set(Index element, const Corners& corners) {
        for (int i = 0; i < kCorners; ++i) {
            const Index corner = kCorners * element + i;
            x_[corner] = corners.x[i];
            y_[corner] = corners.y[i];
            z_[corner] = corners.z[i];
        }
    }

  private:
    Temporary x_, y_, z_;
};

}  // namespace pinstudy::lulesh
