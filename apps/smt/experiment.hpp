// The threads with their arrays: the rounds, and all that was seen in them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/placement.hpp"
#include "apps/smt/check.hpp"
#include "apps/smt/work.hpp"

namespace pinstudy::smt {

// What each thread does.
using Works = std::vector<Work>;

// The works of so many threads by the word of the command line: accumulate, sin, or mixed.
Works works_of(const std::string& word, std::int64_t threads);

class Experiment {
  public:
    // Has each thread make its array, where it is. The team must outlive this. Throws
    // std::runtime_error where the memory does not suffice.
    Experiment(Team& team, std::int64_t items, Works works);

    // A round. Each thread works through its array once, for which it is timed; then it
    // goes on with the same work until all have been timed, so that everyone is disturbed as much
    // all the time. Returns the milliseconds of each thread.
    std::vector<double> round();

    const Check& check() const { return check_; }
    const SeenCpus& seen() const { return seen_; }

  private:
    // A thread's own, in lines of its own.
    struct alignas(128) Bench {
        std::unique_ptr<Items> items;
        double seconds = 0;
        float sum = 0;
        float beside = 0;  // what came out after the timing; kept so that it is computed
    };

    void work_through(Bench& bench, Work work);

    Team& team_;
    Works works_;
    std::vector<Bench> benches_;
    Check check_;
    SeenCpus seen_;
    alignas(128) std::atomic<int> untimed_{0};
};

}  // namespace pinstudy::smt
