/* A team of OpenMP, its threads at work until there were as many looks as a proof takes. */
#include "work.h"

int main(void) {
    const long enough = looks_so_far() + 8;
#pragma omp parallel
    work_until(0.15, enough);
}
