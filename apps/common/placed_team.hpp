// A team whose threads are on the CPUs that were assigned to them, and watched while they do rounds
// of work.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "apps/common/affinity.hpp"
#include "apps/common/assigned_cpus.hpp"
#include "apps/common/rounds.hpp"

namespace pinstudy {

// Where a thread was seen at the start and at the end of its rounds: on which CPUs, and how often
// on another one than the time before.
struct Track {
    std::set<int> cpus;
    int moves = 0;
    int last = -1;
};

// Takes note of a round in the tracks, which are one a thread.
void follow(std::vector<Track>& tracks, const std::vector<Turn>& turns);

// How often any of the threads was seen on another CPU than before, and the CPUs of them all.
int moves_of(const std::vector<Track>& tracks);
Cpus seen_on(const std::vector<Track>& tracks);

// All functions are for thread 0 of the team.
class PlacedTeam {
  public:
    explicit PlacedTeam(Rounds& rounds) : rounds_(rounds) {}

    int threads() const { return rounds_.threads(); }

    // The CPUs that the kernel allows each thread now; a thread that cannot know has none.
    std::vector<Cpus> masks();

    // Has every thread pin itself, or check its CPU, as the command line says. Returns the first
    // thread's reason why that is not so, or an empty text.
    std::string take(const AssignedCpus& assigned);
    std::string violation(const AssignedCpus& assigned);

    const std::vector<Turn>& round(const Rounds::Work& work) { return rounds_.round(work); }
    double since_release() const { return rounds_.since_release(); }

  private:
    template <typename Ask>
    std::string first_of_all(const Ask& ask);

    Rounds& rounds_;
};

// The CPUs of a team in a few words: "0,0,1,1" where each thread has one, "any of 0-3" where all
// have the same ones, else "within 0-3".
std::string cpus_text(const std::vector<Cpus>& of_threads);

}  // namespace pinstudy
