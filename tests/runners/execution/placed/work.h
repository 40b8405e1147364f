/* What programs that place themselves have in common: CPU time, masks, threads and children. */
#ifndef PINSTUDY_TESTS_WORK_H
#define PINSTUDY_TESTS_WORK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline double cpu_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Uses so much CPU time, whatever else runs on the node. */
static inline void work_unseen(double seconds) {
    const double end = cpu_time() + seconds;
    while (cpu_time() < end) {
    }
}

/* The file that the variable LOOKS names: how many looks at placement there were, in digits, and
   from NO_LOOKS on, "no" while there shall be none. */
enum { NO_LOOKS = 19 };
static inline char* looks(void) {
    const int file = open(getenv("LOOKS"), O_RDWR);
    char* digits = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (digits == MAP_FAILED) {
        perror("LOOKS");
        exit(1);
    }
    close(file);
    return digits;
}

static inline long looks_so_far(void) {
    char* digits = looks();
    const long number = atol(digits);
    munmap(digits, 1);
    return number;
}

/* Uses so much CPU time, and more until it was looked at afterwards and there were so many looks. */
static inline void work_until(double seconds, long number) {
    char* digits = looks();
    /* Tests that were killed look no more, and end no daemon. */
    alarm(600);
    work_unseen(seconds);
    /* The next look may have begun before this. */
    const long next = atol(digits) + 2;
    const long enough = next > number ? next : number;
    while (atol(digits) < enough) {
    }
    munmap(digits, 1);
}

static inline void work(double seconds) { work_until(seconds, 0); }

/* Sleeps until a look that began from now on has ended. */
static inline void wait_for_look(void) {
    const struct timespec nap = {0, 5000000};
    const long next = looks_so_far() + 2;
    while (looks_so_far() < next)
        nanosleep(&nap, NULL);
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
