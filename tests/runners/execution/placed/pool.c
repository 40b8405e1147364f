/* Works beside a second thread that is made anew for each of eight steps; binds if CPUs are named. */
#include "work.h"

static int other_cpu;

static void* help(void* nothing) {
    bind_to(other_cpu);
    work(0.1);
    return nothing;
}

int main(int count, char** arguments) {
    bind_to(cpu_of(count, arguments, 1));
    other_cpu = cpu_of(count, arguments, 2);
    for (int step = 0; step < 8; ++step) {
        pthread_t other;
        pthread_create(&other, NULL, help, NULL);
        work(0.1);
        pthread_join(other, NULL);
    }
}
