/* Becomes itself again three times, then works; bound to a CPU from the second life on if named. */
#include "work.h"

int main(int count, char** arguments) {
    const char* lives = getenv("LIVES");
    const int life = lives ? atoi(lives) : 0;
    if (life > 0)
        bind_to(cpu_of(count, arguments, 1));
    work(0.15);
    if (life == 3)
        return 0;
    char next[2] = {(char)('1' + life), '\0'};
    setenv("LIVES", next, 1);
    execv("/proc/self/exe", arguments);
    return 1;
}
