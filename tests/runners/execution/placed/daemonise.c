/* Lets a grandchild in a session of its own do all the work, on another CPU if one is named. */
#include "work.h"

int main(int count, char** arguments) {
    int done[2];
    if (pipe(done) != 0)
        return 1;
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        bind_to(cpu_of(count, arguments, 1));
        work(0.5);
        _exit(write(done[1], "x", 1) != 1);
    }
    wait(NULL);
    char byte;
    return read(done[0], &byte, 1) != 1;
}
