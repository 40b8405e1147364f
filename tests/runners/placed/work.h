/* What programs that place themselves have in common: CPU time, masks, threads and children. */
#ifndef PINSTUDY_TESTS_WORK_H
#define PINSTUDY_TESTS_WORK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Uses so much CPU time, whatever else runs on the node. */
static inline void work(double seconds) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const double end = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 + seconds;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < end);
}

/* Binds the calling thread to one CPU; to none of them, nothing. */
static inline void bind_to(int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(cpu, &mask);
    if (cpu >= 0 && sched_setaffinity(0, sizeof mask, &mask) != 0) {
        perror("sched_setaffinity");
        exit(1);
    }
}

/* The CPU of an argument: -1, leave it unbound, where there is none. */
static inline int cpu_of(int count, char** arguments, int place) {
    return count > place ? atoi(arguments[place]) : -1;
}

#endif
