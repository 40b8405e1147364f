/* Waits for two children that work, each bound to the CPU that is named for it. */
#include "work.h"

int main(int count, char** arguments) {
    for (int child = 0; child < 2; ++child) {
        if (fork() == 0) {
            bind_to(cpu_of(count, arguments, 1 + child));
            work(0.4);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
}
