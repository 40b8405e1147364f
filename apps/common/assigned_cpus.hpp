// The CPU of each thread as the command line gives it: --pin, by which the threads pin themselves,
// and --expect, by which they check that somebody else has pinned them.
#pragma once

#include <cstdint>
#include <string>

#include "apps/common/affinity.hpp"
#include "apps/common/options.hpp"

namespace pinstudy {

class AssignedCpus {
  public:
    // Adds both options; what they are given is kept here, so this must outlive the parsing.
    void add_options(Options& options);

    // Whether one of the options was given.
    bool given() const { return !pin_.empty() || !expect_.empty(); }

    // Why so many threads cannot be placed as asked, or an empty text.
    std::string why_not(std::int64_t threads) const;

    // Pins the calling thread, which is number `thread` of the team, where --pin says so. Returns
    // why that cannot be done, or an empty text.
    std::string take(int thread) const;

    // What is wrong if the kernel allows the calling thread other CPUs than the assigned one, or an
    // empty text; also when no CPU was assigned.
    std::string violation(int thread) const;

  private:
    Cpus pin_;
    Cpus expect_;
};

}  // namespace pinstudy
