/* Two threads, each on a CPU of its own, that exchange these twelve times. */
#include "work.h"

static int cpus[2];

static void* change_sides(void* first) {
    for (int turn = (int)(long)first, turns = 0; turns < 12; ++turn, ++turns) {
        bind_to(cpus[turn % 2]);
        work(0.01);
    }
    return NULL;
}

int main(int count, char** arguments) {
    cpus[0] = cpu_of(count, arguments, 1);
    cpus[1] = cpu_of(count, arguments, 2);
    pthread_t other;
    pthread_create(&other, NULL, change_sides, (void*)1L);
    change_sides(NULL);
    pthread_join(other, NULL);
}
