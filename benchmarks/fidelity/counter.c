// Counts from outside what a program asks of its OpenMP runtime and of malloc.
//
// Preloaded (LD_PRELOAD), it stands before libgomp, libomp and the C library, passes every call on,
// and at the program's end appends one line of JSON to the file that PINSTUDY_COUNTS names:
// parallel regions, barriers (of all threads together), and how many pieces of memory of LARGE bytes
// or more were asked for, with their bytes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

// A page: what is smaller is no temporary field.
#define LARGE 4096

static atomic_long regions, barriers, pieces, bytes;

// The function of this name in the library behind this one.
static void *next(void **known, const char *name) {
    if (*known == NULL) {
        *known = dlsym(RTLD_NEXT, name);
    }
    return *known;
}

// A function of this name and these parameters that counts, and then calls the one behind it.
#define COUNTED(counter, name, parameters, arguments)           \
    void name parameters {                                      \
        static void *behind;                                    \
        atomic_fetch_add(&counter, 1);                          \
        ((void(*) parameters)next(&behind, #name)) arguments;   \
    }

typedef void (*outlined)(void *);

// GCC: a region is one call, a region that is one loop another; libgomp/libgomp_g.h.
COUNTED(regions, GOMP_parallel, (outlined body, void *data, unsigned threads, unsigned flags),
        (body, data, threads, flags))
#define LOOP(name)                                                                             \
    COUNTED(regions, name,                                                                     \
            (outlined body, void *data, unsigned threads, long start, long end, long step,     \
             unsigned flags),                                                                  \
            (body, data, threads, start, end, step, flags))
#define CHUNKED_LOOP(name)                                                                     \
    COUNTED(regions, name,                                                                     \
            (outlined body, void *data, unsigned threads, long start, long end, long step,     \
             long chunk, unsigned flags),                                                      \
            (body, data, threads, start, end, step, chunk, flags))
LOOP(GOMP_parallel_loop_runtime)
LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
CHUNKED_LOOP(GOMP_parallel_loop_static)
CHUNKED_LOOP(GOMP_parallel_loop_dynamic)
CHUNKED_LOOP(GOMP_parallel_loop_guided)
CHUNKED_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
CHUNKED_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
// A barrier of its own, and the one at the end of a loop whose iterations libgomp deals out.
COUNTED(barriers, GOMP_barrier, (void), ())
COUNTED(barriers, GOMP_loop_end, (void), ())

// Clang: __kmpc_barrier is both; a region is a call with any number of arguments, which cannot be
// passed on, so that libomp tells of regions through the tools' interface (OpenMP 5.0, chapter 4).
COUNTED(barriers, __kmpc_barrier, (void *where, int thread), (where, thread))

#if __has_include(<omp-tools.h>)
#include <omp-tools.h>

static void count_region(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *region,
                         unsigned threads, int flags, const void *address) {
    (void)task, (void)frame, (void)region, (void)threads, (void)flags, (void)address;
    atomic_fetch_add(&regions, 1);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)device, (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    return set(ompt_callback_parallel_begin, (ompt_callback_t)count_region) == ompt_set_always;
}

static void finalize(ompt_data_t *data) { (void)data; }

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    (void)version, (void)runtime;
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return &result;
}
#endif

// glibc's own names of its allocator: dlsym() itself may ask for memory.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_memalign(size_t, size_t);

static void count_piece(size_t size) {
    if (size >= LARGE) {
        atomic_fetch_add(&pieces, 1);
        atomic_fetch_add(&bytes, (long)size);
    }
}

void *malloc(size_t size) {
    count_piece(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count_piece(number * size);
    return __libc_calloc(number, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_piece(size);
    return __libc_memalign(alignment, size);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("PINSTUDY_COUNTS");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        fprintf(file, "{\"regions\": %ld, \"barriers\": %ld, \"pieces\": %ld, \"bytes\": %ld}\n",
                regions, barriers, pieces, bytes);
        fclose(file);
    }
}
