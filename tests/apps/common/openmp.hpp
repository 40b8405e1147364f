// Runs a piece of a program under different teams and schedules.
#pragma once

#include <string>

#ifdef _OPENMP
    #include <omp.h>
#endif

namespace pinstudy::testing {

// Calls `body` for teams of 1, 2, 3 and 8 threads and every kind of schedule, with a text that
// names the team and the schedule. Without OpenMP it is called once.
template <typename Body>
void for_every_team_and_schedule(const Body& body) {
#ifdef _OPENMP
    struct Schedule {
        omp_sched_t kind;
        int chunk;
        const char* name;
    };
    constexpr Schedule kSchedules[] = {{omp_sched_static, 0, "static"},
                                       {omp_sched_static, 1, "static,1"},
                                       {omp_sched_static, 3, "static,3"},
                                       {omp_sched_dynamic, 1, "dynamic,1"},
                                       {omp_sched_guided, 2, "guided,2"}};
    const int threads_before = omp_get_max_threads();
    omp_sched_t kind_before{};
    int chunk_before = 0;
    omp_get_schedule(&kind_before, &chunk_before);
    for (const int threads : {1, 2, 3, 8}) {
        for (const Schedule& schedule : kSchedules) {
            omp_set_num_threads(threads);
            omp_set_schedule(schedule.kind, schedule.chunk);
            body(std::to_string(threads) + " threads, " + schedule.name);
        }
    }
    omp_set_num_threads(threads_before);
    omp_set_schedule(kind_before, chunk_before);
#else
    body(std::string("no OpenMP"));
#endif
}

}  // namespace pinstudy::testing
