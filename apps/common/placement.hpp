// A team in the one placement that the command line, or whoever started the program, gave it.
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

// The CPU of each thread as the command line gives it: --pin, by which the threads pin themselves,
// and --expect, by which they check that somebody else has pinned them.
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

// Has the threads of a team pin themselves or check their CPUs, and calls measure(team), which
// prints what it measures and returns the verdict on it. The CPUs are checked again at the end.
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
    // How often a thread was seen on another CPU than the time before.
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
