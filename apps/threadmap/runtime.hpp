// What the OpenMP runtime says of itself and of its places.
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

}  // namespace pinstudy::threadmap
