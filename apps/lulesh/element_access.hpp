// Between memory and lanes for elements that an index list names.
#pragma once

#include <utility>

#include "apps/lulesh/array.hpp"
#include "apps/lulesh/simd.hpp"

namespace pinstudy::lulesh {

// kLanes elements of an index list. Lists are made of runs, so their elements often follow each
// other in memory; then a lane's address need not be looked up, and the whole vector is one load.
class ElementGroup {
  public:
    // `elements` must stay valid as long as the group.
    explicit ElementGroup(const Index* elements)
        : elements_(elements), consecutive_(are_consecutive(elements)) {}

    Real gather(const Array<double>& field) const {
        if (consecutive_) {
            return load(field.data() + elements_[0]);
        }
        return gather_one_by_one(field.data(), elements_);
    }

    void scatter(Array<double>& field, Real value) const {
        if (consecutive_) {
            store(field.data() + elements_[0], value);
            return;
        }
        double lanes[kLanes];
        store(lanes, value);
        for (int lane = 0; lane < kLanes; ++lane) {
            field.data()[elements_[lane]] = lanes[lane];
        }
    }

    // The field at the elements that `neighbours` names for those of the group.
    Real gather_through(const Index* neighbours, const Array<double>& field) const {
        if (consecutive_) {
            return ElementGroup(neighbours + elements_[0]).gather(field);
        }
        Index beyond[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            beyond[lane] = neighbours[elements_[lane]];
        }
        return gather_one_by_one(field.data(), beyond);
    }

  private:
    static bool are_consecutive(const Index* elements) {
        Index difference = 0;
        for (int lane = 1; lane < kLanes; ++lane) {
            difference |= elements[lane] - elements[0] - lane;
        }
        return difference == 0;
    }

    // Not inline: inlined, the addresses of all lanes and fields do not fit into registers.
    [[gnu::noinline]] static Real gather_one_by_one(const double* field, const Index* elements) {
        return [&]<int... kLane>(std::integer_sequence<int, kLane...>) {
            return Real{field[elements[kLane]]...};
        }
        (std::make_integer_sequence<int, kLanes>{});
    }

    const Index* elements_;
    bool consecutive_;
};

}  // namespace pinstudy::lulesh
