// Parallel loops whose iterations are dealt to the threads by the user's schedule.
//
// A program's own schedule is static; OMP_SCHEDULE may name another one. Under its own schedule a
// loop is compiled as if there were no choice: a runtime deals out a schedule(runtime) loop by
// calls, in libomp by thousands of instructions a loop, which a program without that choice does
// not spend.
#pragma once

#include "apps/common/openmp.hpp"

namespace pinstudy {

// Calls body(i) for the calling thread's share of i = begin .. end - 1; every thread of the team
// must call this, and none waits for the others at the end. kChunk is the chunk size of the
// program's own static schedule, 0 for one block a thread.
template <int kChunk = 0, class Integer, class Body>
void share_loop(Integer begin, Integer end, const Body& body) {
    if (!schedule_is_static(kChunk)) {
#pragma omp for schedule(runtime) nowait
        for (Integer i = begin; i < end; ++i) {
            body(i);
        }
    } else if constexpr (kChunk == 0) {
#pragma omp for schedule(static) nowait
        for (Integer i = begin; i < end; ++i) {
            body(i);
        }
    } else {
#pragma omp for schedule(static, kChunk) nowait
        for (Integer i = begin; i < end; ++i) {
            body(i);
        }
    }
}

// Forms a team, shares the loop among its threads, and waits for them.
template <int kChunk = 0, class Integer, class Body>
void parallel_loop(Integer begin, Integer end, const Body& body) {
#pragma omp parallel
    share_loop<kChunk>(begin, end, body);
}

}  // namespace pinstudy
