// The OpenMP runtime's side of schedule.hpp.
#include "apps/common/schedule.hpp"

#ifdef _OPENMP
    #include <omp.h>

    #include <cstdlib>
#endif

namespace pinstudy {

#ifdef _OPENMP

void default_to_static_schedule(int chunk) {
    const char* chosen = std::getenv("OMP_SCHEDULE");
    if (chosen == nullptr || *chosen == '\0') {
        omp_set_schedule(omp_sched_static, chunk);
    }
}

int max_threads() {
    return omp_get_max_threads();
}

int team_size() {
    return omp_get_num_threads();
}

#else

void default_to_static_schedule(int /*chunk*/) {}

int max_threads() {
    return 1;
}

int team_size() {
    return 1;
}

#endif

}  // namespace pinstudy
