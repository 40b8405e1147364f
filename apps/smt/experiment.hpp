// The threads with their arrays: the rounds, and their results.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/placement.hpp"
#include "apps/smt/work.hpp"

namespace pinstudy::smt {

// What each thread does.
using Works = std::vector<Work>;

// The works of so many threads by the word of the command line: accumulate, sin, or mixed.
Works works_of(const std::string& word, std::int64_t threads);

// What a thread must return for the first items, to the last bit. It is computed in another way:
// two floats are added as doubles and the sum is rounded, which gives the float nearest to the
// exact sum, because a double has more than twice a float's digits, and two (S. Figueroa, "When is
// double rounding innocuous?", 1995).
float expected(Work work, std::uint64_t items);

// Every array holds the same items, so every thread's sum is the same float, on every CPU and in
// every round. A compiler that had vectorised or reordered the sum would give another one.
class Check {
  public:
    void look(Work work, float sum) { ++sums_[work][sum]; }

    // Compares all sums with what the first `items` must give.
    Verdict verdict(std::uint64_t items) const;

  private:
    std::map<Work, std::map<float, std::int64_t>> sums_;
};

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
        float beside = 0;  // the sum after the timing; stored so that it is computed
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
