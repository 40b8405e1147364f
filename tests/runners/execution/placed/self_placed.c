/* Programs that place themselves: "self_placed WHAT [CPU [CPU]]". A CPU that is not named binds
   nothing. Without WHAT it is a team of OpenMP, at work until there were as many looks as a proof
   takes. */
#include "work.h"

static int first_cpu, second_cpu;
static cpu_set_t before;
static int puts_back;

static void team(void) {
    const long enough = looks_so_far() + 8;
#pragma omp parallel
    work_until(0.15, enough);
}

/* Binds itself to a CPU for nearly the whole run, then puts its mask back. */
static void rebind(void) {
    work(0.05);
    bind_to(first_cpu);
    work(0.3);
    sched_setaffinity(0, sizeof before, &before);
    work(0.05);
}

/* Binds itself to a CPU, and puts its mask back when it ends, as libomp 16 does. */
static void release(void) {
    puts_back = 1;
    bind_to(first_cpu);
    work(0.3);
}

__attribute__((destructor)) static void put_back(void) {
    if (puts_back)
        sched_setaffinity(0, sizeof before, &before);
}

/* Lets a grandchild in a session of its own do all the work. */
static void daemonise(void) {
    int done[2];
    if (pipe(done) != 0)
        exit(1);
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        bind_to(first_cpu);
        work(0.3);
        _exit(write(done[1], "x", 1) != 1);
    }
    wait(NULL);
    char byte;
    if (read(done[0], &byte, 1) != 1)
        exit(1);
}

static void* help(void* nothing) {
    bind_to(second_cpu);
    work(0.06);
    return nothing;
}

/* Works beside a second thread that is made anew for each step. */
static void pool(void) {
    bind_to(first_cpu);
    for (int step = 0; step < 4; ++step) {
        pthread_t other;
        pthread_create(&other, NULL, help, NULL);
        work(0.06);
        pthread_join(other, NULL);
    }
}

/* Becomes itself again three times, then works; bound from the second life on. */
static void reexecute(char** arguments) {
    const char* lives = getenv("LIVES");
    const int life = lives ? atoi(lives) : 0;
    if (life > 0)
        bind_to(first_cpu);
    work(0.08);
    if (life == 3)
        exit(0);
    char next[2] = {(char)('1' + life), '\0'};
    setenv("LIVES", next, 1);
    execv("/proc/self/exe", arguments);
    exit(1);
}

/* Waits for two children that work. */
static void children(void) {
    for (int child = 0; child < 2; ++child) {
        if (fork() == 0) {
            bind_to(child == 0 ? first_cpu : second_cpu);
            work(0.25);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
}

/* Lets short-lived children do the work, too short to be met. */
static void unseen(void) {
    memcpy(looks() + NO_LOOKS, "no", 2);
    for (int child = 0; child < 100; ++child) {
        if (fork() == 0) {
            work_unseen(0.003);
            _exit(0);
        }
        wait(NULL);
    }
    memcpy(looks() + NO_LOOKS, "  ", 2);
    work(0.05);
}

int main(int count, char** arguments) {
    const struct {
        const char* name;
        void (*run)(void);
    } programs[] = {
        {"rebind", rebind}, {"release", release},   {"daemonise", daemonise},
        {"pool", pool},     {"children", children}, {"unseen", unseen},
    };
    if (count == 1) {
        team();
        return 0;
    }
    sched_getaffinity(0, sizeof before, &before);
    first_cpu = cpu_of(count, arguments, 2);
    second_cpu = cpu_of(count, arguments, 3);
    if (strcmp(arguments[1], "reexecute") == 0)
        reexecute(arguments);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
        if (strcmp(arguments[1], programs[i].name) == 0) {
            programs[i].run();
            return 0;
        }
    }
    return 1;
}
