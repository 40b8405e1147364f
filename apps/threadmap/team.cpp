#include "apps/threadmap/team.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "apps/threadmap/runtime.hpp"

namespace pinstudy::threadmap {
namespace {

using Clock = std::chrono::steady_clock;

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
void look_at_mask(Member& member) {
    Cpus now = allowed_cpus();
    member.allowed_changed = member.allowed_changed || now != member.allowed_last;
    member.allowed_last = std::move(now);
}

void note_if_outside(Member& member, int cpu) {
    if (contains(member.allowed_last, cpu)) {
        return;
    }
    // The mask may have changed since the look.
    look_at_mask(member);
    if (!contains(member.allowed_last, cpu) && current_cpu() == cpu &&
        !contains(member.outside, cpu)) {
        member.outside.push_back(cpu);
    }
}

// Keeps the calling thread busy from `start` on, and has it watch itself. Throws std::system_error
// if the kernel does not report its CPU.
void watch_this_thread(Member& member, Clock::time_point start, double seconds, int slices) {
    member.tid = gettid();
    member.place = place_of_this_thread();
    member.allowed_first = member.allowed_last = allowed_cpus();
    member.seen = Sightings(slices);
    const double cpu_seconds_before = cpu_seconds();
    volatile double kept = 1;
    int slice = 0;
    double passed = 0;
    do {
        passed = std::chrono::duration<double>(Clock::now() - start).count();
        const int now = std::min(slices - 1, static_cast<int>(passed / seconds * slices));
        if (now != slice) {
            slice = now;
            look_at_mask(member);
        }
        const int cpu = current_cpu();
        member.seen.add(cpu, slice);
        note_if_outside(member, cpu);
        kept = work(kept);
    } while (passed < seconds);
    member.ran = std::min(1.0, (cpu_seconds() - cpu_seconds_before) / passed);
    look_at_mask(member);
}

}  // namespace

void Sightings::add(int cpu, int slice) {
    if (looks == 0) {
        first_cpu = cpu;
    } else if (cpu != last_cpu) {
        ++moves;
    }
    last_cpu = cpu;
    ++looks;
    ++slices[static_cast<std::size_t>(slice)][cpu];
}

Looks Sightings::cpus() const {
    Looks all;
    for (const Looks& slice : slices) {
        for (const auto& [cpu, count] : slice) {
            all[cpu] += count;
        }
    }
    return all;
}

std::vector<Member> watch_team(int threads, double seconds, int slices,
                               const AssignedCpus& assigned) {
    std::vector<Member> members(static_cast<std::size_t>(threads));
    std::vector<std::string> problems(members.size());
    std::atomic<bool> go_on{true};
    Clock::time_point start;
    // A launcher such as likwid-pin pins each thread after its creation: all are in their places
    // when the last one has been created.
    std::barrier gate(threads, [&start]() noexcept { start = Clock::now(); });
    run_team(threads, [&](int i) {
        Member& member = members[static_cast<std::size_t>(i)];
        std::string& problem = problems[static_cast<std::size_t>(i)];
        problem = assigned.take(i);
        if (!problem.empty()) {
            go_on = false;
        }
        gate.arrive_and_wait();
        if (!go_on) {
            return;
        }
        try {
            const std::string misplaced = assigned.violation(i);
            watch_this_thread(member, start, seconds, slices);
            member.misplaced = misplaced.empty() ? assigned.violation(i) : misplaced;
        } catch (const std::exception& error) {
            problem = error.what();
        }
    });
    for (const std::string& problem : problems) {
        if (!problem.empty()) {
            throw std::runtime_error(problem);
        }
    }
    return members;
}

std::vector<Reached> reach_each(const Cpus& cpus) {
    std::vector<Reached> all;
    for (const int cpu : cpus) {
        std::string& why_not = all.emplace_back(Reached{cpu, ""}).why_not;
        try {
            std::thread([cpu, &why_not] {
                why_not = pin_this_thread(cpu);
                if (const int now = current_cpu(); why_not.empty() && now != cpu) {
                    why_not = "pinned, but seen on CPU " + std::to_string(now);
                }
            }).join();
        } catch (const std::system_error& error) {
            why_not = std::string("no thread can be started: ") + error.what();
        }
    }
    return all;
}

}  // namespace pinstudy::threadmap
