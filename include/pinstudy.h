// Marks the regions of a program that pinstudy measures one by one (docs/regions.md):
//
//     pinstudy_begin("solve");
//     ...
//     pinstudy_end("solve");
//
// For C and C++ on Linux; there is no library to link. Without pinstudy a mark does nothing and
// costs a few nanoseconds. Mark regions outside parallel ones: pinstudy reads its instruments while
// the calling thread waits.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef PINSTUDY_H
#define PINSTUDY_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
    #include <omp.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The conversation with pinstudy, one for all files of the program: `descriptor` is -1 without one,
// and `answered_ns` is when the latest mark was answered.
struct pinstudy_marks {
    int asked;
    int descriptor;
    pid_t process;
    long long answered_ns;
};
__attribute__((weak)) struct pinstudy_marks pinstudy_marks_of_program;

static inline long long pinstudy_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline int pinstudy_may_mark(const struct pinstudy_marks* marks) {
#ifdef _OPENMP
    if (omp_in_parallel())
        return 0;
#endif
    return getpid() == marks->process && syscall(SYS_gettid) == marks->process;
}

static void pinstudy_tell(char mark, const char* region) {
    struct pinstudy_marks* const marks = &pinstudy_marks_of_program;
    char text[256];
    int size;
    if (!pinstudy_may_mark(marks))
        mark = 'w';
    size = snprintf(text, sizeof text, "%c %lld %lld %s", mark, marks->answered_ns,
                    pinstudy_now_ns(), region);
    size = size < (int)sizeof text ? size : (int)sizeof text - 1;
    if (send(marks->descriptor, text, (size_t)size, MSG_NOSIGNAL) != size || mark == 'w')
        return;
    do
        size = (int)recv(marks->descriptor, text, sizeof text - 1, 0);
    while (size < 0 && errno == EINTR);
    if (size <= 0)
        marks->descriptor = -1;
    else if (text[0] != 'k')
        fprintf(stderr, "pinstudy: region %s: %.*s\n", region, size, text);
    marks->answered_ns = pinstudy_now_ns();
}

static inline void pinstudy_mark(char mark, const char* region) {
    struct pinstudy_marks* const marks = &pinstudy_marks_of_program;
    if (!marks->asked) {
        const char* text = getenv("PINSTUDY_REGIONS");
        marks->asked = 1;
        marks->process = getpid();
        marks->descriptor = text ? atoi(text) : -1;
        // The programs that this one starts are measured as a part of it, and make no marks.
        if (text && fcntl(marks->descriptor, F_SETFD, FD_CLOEXEC) != 0)
            marks->descriptor = -1;
        unsetenv("PINSTUDY_REGIONS");
    }
    if (marks->descriptor >= 0)
        pinstudy_tell(mark, region);
}

static inline void pinstudy_begin(const char* region) {
    pinstudy_mark('b', region);
}

static inline void pinstudy_end(const char* region) {
    pinstudy_mark('e', region);
}

#ifdef __cplusplus
}
#endif
#endif
