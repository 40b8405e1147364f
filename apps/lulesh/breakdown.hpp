// The end of a run whose solution is none.
#pragma once

#include <atomic>
#include <stdexcept>

namespace pinstudy::lulesh {

// what() says what is wrong.
class Breakdown : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Watches the volumes that the threads of a loop come upon.
class VolumeCheck {
  public:
    void look_at(double volume) {
        if (!(volume > 0.0)) {
            all_positive_.store(false, std::memory_order_relaxed);
        }
    }

    // Throws Breakdown if one was not positive.
    void require_positive() const {
        if (!all_positive_) {
            throw Breakdown("an element's volume is not positive");
        }
    }

  private:
    std::atomic<bool> all_positive_ = true;
};

}  // namespace pinstudy::lulesh
