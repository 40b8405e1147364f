/* Two threads that work, each bound if CPUs are named, and three that sleep meanwhile. */
#include "work.h"

static int other_cpu;

static void* sleep_on(void* nothing) {
    pause();
    return nothing;
}

static void* help(void* nothing) {
    bind_to(other_cpu);
    work(0.4);
    return nothing;
}

int main(int count, char** arguments) {
    pthread_t thread;
    for (int helper = 0; helper < 3; ++helper)
        pthread_create(&thread, NULL, sleep_on, NULL);
    bind_to(cpu_of(count, arguments, 1));
    other_cpu = cpu_of(count, arguments, 2);
    pthread_create(&thread, NULL, help, NULL);
    work(0.4);
    pthread_join(thread, NULL);
}
