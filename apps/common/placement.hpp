// A team in the one placement that the command line, or a launcher, gave it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "apps/common/affinity.hpp"
#include "apps/common/options.hpp"
#include "apps/common/program.hpp"
#include "apps/common/team.hpp"

namespace pinstudy {

// The CPU of each thread on the command line: under --pin the threads pin themselves, under
// --expect they check that a launcher has pinned them.
class AssignedCpus {
  public:
    // Adds both options. Their values are stored here, so this must outlive the parsing.
    void add_options(Options& options);

    // Whether one of the options was given.
    bool given() const { return !pin_.empty() || !expect_.empty(); }

    // Why so many threads cannot be placed as requested, or an empty text.
    std::string why_not(std::int64_t threads) const;

    // Pins the calling thread, number `thread` of the team, to its CPU of --pin, if there is one.
    // Returns why that failed, or an empty text.
    std::string take(int thread) const;

    // The mistake if the kernel allows the calling thread other CPUs than the assigned one; empty
    // if there is none, or no CPU was assigned.
    std::string violation(int thread) const;

  private:
    Cpus pin_;
    Cpus expect_;
};

// Has the threads of a team pin themselves or check their CPUs, and calls measure(team), which
// prints its measurements and returns the verdict on them. The CPUs are checked again at the end.
// Returns the exit status.
int run_placed(std::int64_t threads, const AssignedCpus& assigned,
               const std::function<Verdict(Team&)>& measure);

// Where the threads of a team were seen at the start and at the end of their rounds.
class SeenCpus {
  public:
    explicit SeenCpus(int threads) : last_(static_cast<std::size_t>(threads), -1) {}

    void add(const std::vector<Turn>& turns);

    // Lines for people and for studies.
    std::string lines() const;

    const std::set<int>& cpus() const { return cpus_; }
    // How often a thread was on another CPU than the time before.
    int moves() const { return moves_; }

  private:
    std::vector<int> last_;  // of each thread
    std::set<int> cpus_;
    int moves_ = 0;
};

// The CPUs that the kernel allows the threads of a team now, in a few words: "0,0,1,1" where each
// thread has one, "any of 0-3" where all have the same ones, else "within 0-3".
std::string allowed_text(Team& team);

}  // namespace pinstudy
