/* A parallel loop whose iterations take so long as the CPU's kind says, whatever the host does: the
   speeds of a node that are known exactly. Each thread sleeps until the sum of its iterations' times.

   usage: paced ITERATIONS P_US E_US FIRST_E_CPU; compiled with -fopenmp, schedule by OMP_SCHEDULE */

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(struct timespec at) { return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec; }

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const int iterations = atoi(argv[1]), first_e = atoi(argv[4]);
    const long p_ns = 1000 * atol(argv[2]), e_ns = 1000 * atol(argv[3]);
    struct timespec begin, end;
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp master
        clock_gettime(CLOCK_MONOTONIC, &begin);
#pragma omp barrier
        struct timespec until = begin;
#pragma omp for schedule(runtime)
        for (int i = 0; i < iterations; ++i) {
            until.tv_nsec += sched_getcpu() < first_e ? p_ns : e_ns;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("elapsed: %.6f\n", seconds(end) - seconds(begin));
    return 0;
}
