/* Ranks of threads, each of which uses so many seconds of CPU time: `ranks SECONDS [FAILING [LOOKS]]`.
   Rank FAILING ends with status 3 instead of meeting the others. With a file LOOKS they work until it
   has counted enough looks, too (tests/support/held.py). */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ENOUGH_LOOKS 12

static double cpu_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static long looks(const char* path) {
    long counted = 0;
    FILE* file = path ? fopen(path, "r") : NULL;
    if (!file || fscanf(file, "%ld", &counted) != 1)
        counted = 0;
    if (file)
        fclose(file);
    return counted;
}

int main(int count, char** arguments) {
    int rank = 0, ranks = 0, given = 0, threads = 0, together = 0;
    MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#pragma omp parallel reduction(+ : threads)
    {
        const char* path = count > 3 ? arguments[3] : NULL;
        const double end = cpu_time() + atof(arguments[1]);
        const long enough = path ? looks(path) + ENOUGH_LOOKS : 0;
        while (cpu_time() < end || looks(path) < enough) {
        }
        threads = 1;
    }
    if (count > 2 && atoi(arguments[2]) == rank)
        exit(3);
    MPI_Reduce(&threads, &together, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d threads\n", ranks, together);
    MPI_Finalize();
    return 0;
}
