// The programs' calls of the OpenMP runtime, with and without OpenMP.
#pragma once

namespace pinstudy {

// Makes `static` with the given chunk size (0: one block a thread) the schedule of
// schedule(runtime) loops, unless the user chose one in OMP_SCHEDULE. The default differs
// between runtimes, so a program must set it. Without OpenMP it does nothing.
void default_to_static_schedule(int chunk);

// Whether the schedule of schedule(runtime) loops is static with that chunk size; true without
// OpenMP.
bool schedule_is_static(int chunk);

bool has_openmp();

// The number of threads a parallel region may get; 1 without OpenMP.
int max_threads();

// The number of the calling thread in its team, from 0; 0 without OpenMP.
int thread_number();

}  // namespace pinstudy
