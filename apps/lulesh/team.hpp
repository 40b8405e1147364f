// The threads of a run, with and without OpenMP: the only place that names OpenMP, save for the
// one loop with a schedule.
#pragma once

#ifdef _OPENMP
    #include <omp.h>
#endif

#include "apps/common/schedule.hpp"
#include "apps/lulesh/simd.hpp"

namespace pinstudy::lulesh {

// A thread's place in its team.
struct Team {
    int rank;
    int size;
};

// Calls body(team) once on every thread of a new team of at most `threads`; returns when all are
// done.
template <class Body>
void on_threads(int threads, const Body& body) {
#ifdef _OPENMP
    #pragma omp parallel num_threads(threads) default(none) shared(body)
    body(Team{omp_get_thread_num(), omp_get_num_threads()});
#else
    static_cast<void>(threads);
    body(Team{0, 1});
#endif
}

// The same with as many threads as the user allows.
template <class Body>
void on_every_thread(const Body& body) {
    on_threads(max_threads(), body);
}

// Waits until every thread of the team has come here.
inline void barrier() {
#ifdef _OPENMP
    #pragma omp barrier
#endif
}

// The number of threads that a parallel region will get now; 0 without OpenMP.
inline int size_of_next_team() {
    int size = 0;
#ifdef _OPENMP
    on_every_thread([&size](const Team& team) {
        if (team.rank == 0) {
            size = team.size;
        }
    });
#endif
    return size;
}

struct Range {
    Index begin;
    Index end;
};

// The part of [0, count) that belongs to a thread: contiguous, the same at every call, and so the
// same memory for the same thread throughout a run.
inline Range share(Index count, const Team& team) {
    const auto cut = [&](int rank) {
        return static_cast<Index>(static_cast<std::int64_t>(count) * rank / team.size);
    };
    return {cut(team.rank), cut(team.rank + 1)};
}

}  // namespace pinstudy::lulesh
