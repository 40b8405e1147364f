// A team of threads as the present environment forms it, each thread watching itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/assigned_cpus.hpp"
#include "apps/threadmap/watch.hpp"

namespace pinstudy::threadmap {

// A thread of the team. `place` is the OpenMP place that the runtime says it is bound to, -1 if
// none. `misplaced` says how it is not on the CPU assigned to it on the command line.
struct Member {
    ThreadView view;
    int place = -1;
    std::string misplaced;
};

// `problem` is why it could not be done, or empty.
struct Team {
    std::vector<Member> members;
    double seconds = 0;
    std::string problem;
};

// How many threads a team has when nobody asks for a number: the OpenMP runtime's choice, or a
// thread for each CPU that the process may use.
int default_team_size(const Cpus& allowed);

// Forms a team of so many threads and lets it work for so long. Throws std::runtime_error or
// std::system_error when so many threads cannot be had.
Team watch_team(int threads, double seconds, int slices, const AssignedCpus& assigned);

}  // namespace pinstudy::threadmap
