// A data race on purpose: two threads of a team add to one variable. The thread sanitizer must
// report it, or its silence about the programs says nothing.
#include <cstdio>

int main() {
    int sum = 0;
#pragma omp parallel for num_threads(2) schedule(static, 1) shared(sum)
    for (int i = 0; i < 1000; ++i) {
        sum = sum + i;
    }
    std::printf("%d\n", sum);
    return 0;
}
