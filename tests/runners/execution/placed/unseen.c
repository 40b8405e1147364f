/* Lets short-lived children do the work, too short to be met. */
#include "work.h"

int main(void) {
    memcpy(looks() + NO_LOOKS, "no", 2);
    for (int child = 0; child < 300; ++child) {
        if (fork() == 0) {
            work_unseen(0.003);
            _exit(0);
        }
        wait(NULL);
    }
    memcpy(looks() + NO_LOOKS, "  ", 2);
    work(0.1);
}
