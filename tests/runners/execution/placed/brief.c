/* Works in many threads or processes of less than 10 ms each: "brief WHO [OWN [THEIRS]]".
   The program binds itself to the CPU OWN, and they bind themselves to THEIRS; -1 binds nothing.
   They are looked at while they sleep, before and after their work. */
#include "work.h"

#include <signal.h>

enum { TOGETHER = 16, BURST = 200, ONE_BY_ONE = 60 };

/* Less than a tick, with what sleeping takes. */
static const double BRIEF_S = 0.006;

static const char* theirs = "-1";

static void work_and_be_seen(double seconds) {
    wait_for_look();
    work_unseen(seconds);
    wait_for_look();
}

static void* lasting(void* nothing) {
    bind_to(atoi(theirs));
    work_and_be_seen(BRIEF_S);
    return nothing;
}

/* Goes back to where it was born before it ends. */
static void* returning(void* nothing) {
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    lasting(nothing);
    sched_setaffinity(0, sizeof before, &before);
    wait_for_look();
    return nothing;
}

static void* instant(void* nothing) {
    bind_to(atoi(theirs));
    work_unseen(0.001);
    wait_for_look();
    return nothing;
}

static void* unseen(void* nothing) {
    bind_to(atoi(theirs));
    work_unseen(0.003);
    return nothing;
}

/* A member of a team that is formed when half of the work is done. */
static void* late(void* nothing) {
    bind_to(atoi(theirs));
    work(0.1);
    return nothing;
}

static void* idle(void* nothing) {
    for (int i = 0; i < 4; ++i)
        wait_for_look();
    return nothing;
}

static void run_threads(void* (*body)(void*), int count) {
    pthread_t threads[BURST];
    for (int i = 0; i < count; ++i) {
        if (pthread_create(&threads[i], NULL, body, NULL) != 0)
            exit(1);
    }
    for (int i = 0; i < count; ++i)
        pthread_join(threads[i], NULL);
}

/* Of two generations, the first ends at once: whoever adopts orphans is the parent of the second.
 */
static void run_children(int generations) {
    int alive[2];
    if (pipe(alive) != 0)
        exit(1);
    for (int i = 0; i < TOGETHER; ++i) {
        if (fork() != 0)
            continue;
        if (generations > 1 && (setsid() < 0 || fork() != 0))
            _exit(0);
        lasting(NULL);
        _exit(0);
    }
    close(alive[1]);
    char nothing;
    while (read(alive[0], &nothing, 1) > 0) {
    }
    close(alive[0]);
    while (wait(NULL) > 0) {
    }
}

static void run_vforked(char* program) {
    for (int i = 0; i < TOGETHER; ++i) {
        if (vfork() == 0) {
            execl(program, program, "itself", theirs, (char*)NULL);
            _exit(1);
        }
    }
    while (wait(NULL) > 0) {
    }
}

int main(int count, char** arguments) {
    const char* who = count > 1 ? arguments[1] : "";
    bind_to(cpu_of(count, arguments, 2));
    if (strcmp(who, "itself") == 0) {
        work_and_be_seen(BRIEF_S);
        return 0;
    }
    if (count > 3)
        theirs = arguments[3];
    work(0.1);
    if (strncmp(who, "dropped", 7) == 0)
        signal(SIGCHLD, SIG_IGN);
    if (strcmp(who, "threads") == 0) {
        run_threads(lasting, TOGETHER);
    } else if (strcmp(who, "returning") == 0) {
        run_threads(returning, TOGETHER);
    } else if (strcmp(who, "late") == 0) {
        run_threads(late, 2);
    } else if (strcmp(who, "idle") == 0) {
        run_threads(idle, TOGETHER);
    } else if (strcmp(who, "burst") == 0) {
        run_threads(instant, BURST);
    } else if (strcmp(who, "unseen") == 0) {
        memcpy(looks() + NO_LOOKS, "no", 2);
        for (int i = 0; i < ONE_BY_ONE; ++i)
            run_threads(unseen, 1);
        memcpy(looks() + NO_LOOKS, "  ", 2);
        wait_for_look();
    } else if (strcmp(who, "children") == 0 || strcmp(who, "dropped") == 0) {
        run_children(1);
    } else if (strcmp(who, "grandchildren") == 0 || strcmp(who, "dropped-grandchildren") == 0) {
        run_children(2);
    } else if (strcmp(who, "vforked") == 0) {
        run_vforked("/proc/self/exe");
    } else {
        return 1;
    }
    return 0;
}
