#include "apps/threadmap/watch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace pinstudy::threadmap {
namespace {

// Between two looks: about a microsecond of arithmetic, in which the thread is as busy as a program
// of floating-point operations. The looks themselves take less than a tenth of that, and the kernel
// moves threads at its ticks, milliseconds apart.
double work(double value) {
    constexpr int kSteps = 1000;
    for (int i = 0; i < kSteps; ++i) {
        value = value * 0.999 + 0.001;
    }
    return value;
}

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool contains(const Cpus& cpus, int cpu) {
    return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

// The CPUs that the thread is allowed now; notes a change.
void look_at_mask(ThreadView& view) {
    Cpus now = allowed_cpus();
    view.allowed_changed = view.allowed_changed || now != view.allowed_last;
    view.allowed_last = std::move(now);
}

void note_if_outside(ThreadView& view, int cpu) {
    if (contains(view.allowed_last, cpu)) {
        return;
    }
    // Somebody may have changed the mask since it was looked at.
    look_at_mask(view);
    if (!contains(view.allowed_last, cpu) && current_cpu() == cpu && !contains(view.outside, cpu)) {
        view.outside.push_back(cpu);
    }
}

}  // namespace

ThreadView watch_this_thread(Clock::time_point start, double seconds, int slices) {
    ThreadView view;
    view.tid = syscall(SYS_gettid);
    view.allowed_first = view.allowed_last = allowed_cpus();
    view.seen = Sightings(slices);
    const double cpu_seconds_before = cpu_seconds();
    volatile double kept = 1;
    int slice = 0;
    double passed = 0;
    do {
        passed = std::chrono::duration<double>(Clock::now() - start).count();
        const int now = std::min(slices - 1, static_cast<int>(passed / seconds * slices));
        if (now != slice) {
            slice = now;
            look_at_mask(view);
        }
        const int cpu = current_cpu();
        view.seen.add(cpu, slice);
        note_if_outside(view, cpu);
        kept = work(kept);
    } while (passed < seconds);
    view.ran = std::min(1.0, (cpu_seconds() - cpu_seconds_before) / passed);
    look_at_mask(view);
    return view;
}

}  // namespace pinstudy::threadmap
