// The OpenMP runtime's facts about itself, its places, and the team that it forms.
#pragma once

#include <string>
#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// Without OpenMP `library` is empty. `openmp` is the version of OpenMP (its year and month) for
// which the program was compiled. `places` are the CPUs of each place; the runtime has none where
// nothing binds threads.
struct Runtime {
    std::string library;
    int openmp = 0;
    std::string proc_bind;
    std::vector<Cpus> places;
    bool dynamic = false;
    int thread_limit = 0;
};

Runtime describe_runtime();

// The OpenMP place that the calling thread is bound to, -1 if none.
int place_of_this_thread();

// How many threads a team has without a requested number: the OpenMP runtime's choice, or a
// thread for each CPU that the process may use.
int default_team_size(const Cpus& allowed);

}  // namespace pinstudy::threadmap
