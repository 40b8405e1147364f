// A stopwatch on the steady wall clock.
#pragma once

#include <chrono>

namespace pinstudy {

class Timer {
  public:
    // Seconds since construction.
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pinstudy
