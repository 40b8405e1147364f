// How the iterations of the programs' uneven loops are dealt to the threads.
#pragma once

namespace pinstudy {

// Makes `static` with the given chunk size (0: one block a thread) the schedule of
// schedule(runtime) loops, unless the user chose one in OMP_SCHEDULE. Runtimes differ in what they
// do when nobody says anything, so a program must say it. Without OpenMP it does nothing.
void default_to_static_schedule(int chunk);

// The number of threads a parallel region may get; 1 without OpenMP.
int max_threads();

// The number of threads in the present team; 1 without OpenMP.
int team_size();

}  // namespace pinstudy
