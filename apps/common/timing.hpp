// Timing by Google Benchmark: what a repetition is there is a round here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/verdict.hpp"

namespace pinstudy {

// Centre and spread of a quantity over the rounds, as Google Benchmark computes them. Of one round
// there is no standard deviation.
struct Spread {
    double median = 0;
    double mean = 0;
    std::optional<double> sd;
};

// What Google Benchmark says of a measurement: the time of a round, and the quantities beside it.
struct Timed {
    std::int64_t rounds = 0;
    Spread ms;
    std::map<std::string, Spread> quantities;
};

// What is measured, by its name.
using Results = std::map<std::string, Timed>;

// The deviation with so many decimals; "-" where there is none.
std::string sd_text(const Spread& spread, int digits);

// One round: its time and other quantities, or why there are no more of them.
struct Sample {
    double seconds = 0;
    std::map<std::string, double> quantities;
    std::string failure;
};

// There may be one in a program: Google Benchmark keeps its settings in global variables.
class Timing {
  public:
    // Takes what is Google Benchmark's (--benchmark_...) out of the arguments, which follow the
    // name of the program. The name must outlive this.
    Timing(char* program, std::vector<std::string>& arguments);

    // What is wrong with its arguments, or an empty text.
    const std::string& mistake() const { return mistake_; }

    // Whether its arguments give the standard output to Google Benchmark's own report, or list.
    bool has_the_output() const { return has_the_output_; }

    // Adds a measurement of so many rounds, unless --benchmark_repetitions says how many.
    void add(const std::string& name, std::int64_t rounds, std::function<Sample()> round);

    // Measures all in the order they were added, but for those that Google Benchmark's arguments
    // exclude. On a terminal, standard error says which one is measured. The result is empty when
    // has_the_output().
    Results run();

    // Prints the verdict and returns the exit status for it. Where the standard output is Google
    // Benchmark's, only a failure is said, on standard error. Nothing is judged where nothing was
    // measured because its arguments want a list, or exclude all.
    int conclude(const Verdict& verdict) const;

  private:
    std::string mistake_;
    bool has_the_output_ = false;
    bool has_the_repetitions_ = false;
    bool measured_ = false;
    std::optional<std::size_t> chosen_;  // how many its arguments leave; nothing before run()
};

}  // namespace pinstudy
