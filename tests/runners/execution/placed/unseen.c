/* Lets short-lived children do the work, too short to be met. */
#include "work.h"

int main(void) {
    for (int child = 0; child < 300; ++child) {
        if (fork() == 0) {
            work_unseen(0.003);
            _exit(0);
        }
        wait(NULL);
    }
    work(0.1);
}
