#include "apps/common/openmp.hpp"

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

bool schedule_is_static(int chunk) {
    omp_sched_t kind{};
    int given = 0;
    omp_get_schedule(&kind, &given);
    // In libomp the upper bits show whether a schedule is monotonic, as a static one always is.
    return (static_cast<unsigned>(kind) & 0xffU) == omp_sched_static && given == chunk;
}

bool has_openmp() {
    return true;
}

int max_threads() {
    return omp_get_max_threads();
}

int thread_number() {
    return omp_get_thread_num();
}

#else

void default_to_static_schedule(int /*chunk*/) {}

bool schedule_is_static(int /*chunk*/) {
    return true;
}

bool has_openmp() {
    return false;
}

int max_threads() {
    return 1;
}

int thread_number() {
    return 0;
}

#endif

}  // namespace pinstudy
