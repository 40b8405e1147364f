/* Binds itself to a CPU for nearly the whole run, then puts its mask back. */
#include "work.h"

int main(int count, char** arguments) {
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    work(0.1);
    bind_to(cpu_of(count, arguments, 1));
    work(0.5);
    sched_setaffinity(0, sizeof before, &before);
    work(0.05);
}
