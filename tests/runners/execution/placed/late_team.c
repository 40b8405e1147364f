/* Works alone, then for a short time with a second thread; binds both if CPUs are named. */
#include "work.h"

static int other_cpu;

static void* help(void* nothing) {
    bind_to(other_cpu);
    work(0.15);
    return nothing;
}

int main(int count, char** arguments) {
    bind_to(cpu_of(count, arguments, 1));
    other_cpu = cpu_of(count, arguments, 2);
    work(1.0);
    pthread_t other;
    pthread_create(&other, NULL, help, NULL);
    work(0.15);
    pthread_join(other, NULL);
}
