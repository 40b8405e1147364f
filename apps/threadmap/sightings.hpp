// The CPUs on which one thread was seen, look by look.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// A CPU and how many looks found the thread there.
struct Seen {
    int cpu = -1;
    std::int64_t looks = 0;
};

class Sightings {
  public:
    // The time of watching is cut into so many slices.
    explicit Sightings(int slices) : slices_(static_cast<std::size_t>(slices)) {}

    // The thread was seen on a CPU during a slice, counted from 0.
    void add(int cpu, int slice);

    // All CPUs on which the thread was seen, ascending, and for each slice those seen in it, in the
    // order of their first look. A slice in which the thread did not run is empty.
    std::vector<Seen> cpus() const;
    const std::vector<std::vector<Seen>>& slices() const { return slices_; }

    std::int64_t looks() const { return looks_; }
    // How often the thread was seen on another CPU than the look before.
    std::int64_t moves() const { return moves_; }
    int first_cpu() const { return first_; }
    int last_cpu() const { return last_; }

  private:
    std::vector<std::vector<Seen>> slices_;
    std::int64_t looks_ = 0;
    std::int64_t moves_ = 0;
    int first_ = -1;
    int last_ = -1;
};

// The CPU of the most looks, the first of equal ones; -1 if there are none.
int most_seen(const std::vector<Seen>& seen);

}  // namespace pinstudy::threadmap
