/* Binds itself to a CPU, and puts its mask back when it ends, as libomp 16 does. */
#include "work.h"

static cpu_set_t before;

__attribute__((destructor)) static void put_back(void) {
    sched_setaffinity(0, sizeof before, &before);
}

int main(int count, char** arguments) {
    sched_getaffinity(0, sizeof before, &before);
    bind_to(cpu_of(count, arguments, 1));
    work(0.5);
}
