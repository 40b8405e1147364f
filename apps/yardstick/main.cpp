// yardstick: work of a known amount, by which a node's instruments are tested.
#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "apps/common/affinity.hpp"
#include "apps/common/memory.hpp"
#include "apps/common/options.hpp"
#include "apps/common/program.hpp"
#include "apps/common/team.hpp"
#include "apps/common/timer.hpp"
#include "apps/yardstick/work.hpp"
#include "include/pinstudy.h"

namespace pinstudy::yardstick {
namespace {

constexpr const char* kDescription =
    "Does work of a known amount and prints it, so that counters and clocks can be compared with "
    "it: pinstudy prove does so. chain: additions that wait for each other; split: the same for a "
    "share of the time where it was started, then on another CPU; move: changes of CPU; sleep: "
    "short sleeps; chase: reads of memory that wait for each other; idle: nothing for a time.";
constexpr double kSpan = 1e-3;  // seconds of a sleep: longer than it takes to leave the CPU

struct Settings {
    std::string work = "chain";
    double seconds = 1;
    double share = 0.5;
    std::int64_t amount = 0;
    std::int64_t bytes = 16384;
    std::int64_t threads = 1;
    std::int64_t other = -1;
};

void add_options(Options& options, Settings& settings) {
    options.word("WORK", settings.work, {"chain", "split", "move", "sleep", "chase", "idle"},
                 "What is done: see above");
    options.real("--seconds", "SECONDS", settings.seconds, 0, 3600, "Of chain, split and idle");
    options.real("--share", "SHARE", settings.share, 0, 1, "Of split, on the CPU it starts on");
    options.integer("--other", settings.other, -1, 65535,
                    "The other CPU of split and move; -1 for an allowed one");
    options.integer(
        "--amount", settings.amount, 0, 1'000'000'000'000,
        "Moves, sleeps, or reads; of chain, additions of each thread, instead of a time");
    options.integer("--bytes", settings.bytes, 512, std::int64_t{1} << 40, "Of chase");
    options.integer("--threads", settings.threads, 1, 65536, "Of chain");
}

std::string why_not(const Settings& settings) {
    return settings.work == "chase" ? why_too_large("--bytes", static_cast<double>(settings.bytes))
                                    : "";
}

void sleep_for(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Seconds that the calling thread has been on CPUs.
double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Runs the loop until the time is over; returns its turns.
std::int64_t add_for(double seconds) {
    // Ten million additions: a look at the clock must not count.
    constexpr std::int64_t kTurnsBetweenLooks = 100'000;
    const Timer timer;
    std::int64_t turns = 0;
    while (timer.seconds() < seconds) {
        run_loop(kTurnsBetweenLooks);
        turns += kTurnsBetweenLooks;
    }
    return turns;
}

void print_turns(std::int64_t turns) {
    std::printf("Additions: %lld\n", static_cast<long long>(turns * kAdditions));
    if (loop_is_exact()) {
        std::printf("Instructions: %lld\n", static_cast<long long>(turns * kInstructions));
    }
}

// By each thread: so many additions if there is an amount, else as many as fit into the time.
void chain(const Settings& settings) {
    struct Part {
        std::int64_t turns = 0;
        double cpu_seconds = 0;
    };
    std::vector<Part> parts(static_cast<std::size_t>(settings.threads));
    run_team(static_cast<int>(settings.threads), [&parts, &settings](int thread) {
        const double before = cpu_seconds();
        Part& part = parts[static_cast<std::size_t>(thread)];
        part.turns = settings.amount > 0 ? settings.amount / kAdditions : add_for(settings.seconds);
        run_loop(settings.amount > 0 ? part.turns : 0);
        part.cpu_seconds = cpu_seconds() - before;
    });
    Part all;
    for (const Part& part : parts) {
        all.turns += part.turns;
        all.cpu_seconds += part.cpu_seconds;
    }
    print_turns(all.turns);
    std::printf("Adding: %.6f s of CPU time\n", all.cpu_seconds);
}

// The CPU to leave this one for: --other, else the last allowed one, else the first.
int other_cpu(const Settings& settings) {
    if (settings.other >= 0) {
        return static_cast<int>(settings.other);
    }
    const Cpus cpus = allowed_cpus();
    return current_cpu() == cpus.back() ? cpus.front() : cpus.back();
}

void split(const Settings& settings) {
    const auto part = [&settings](const char* which, const char* region, int cpu, double share) {
        go_to(cpu);
        pinstudy_begin(region);
        const double before = cpu_seconds();
        const std::int64_t turns = add_for(share * settings.seconds);
        pinstudy_end(region);
        std::printf("%s CPU %d: %.6f s, %lld additions\n", which, cpu, cpu_seconds() - before,
                    static_cast<long long>(turns * kAdditions));
        return turns;
    };
    const int other = other_cpu(settings);
    const std::int64_t turns = part("First", "first", current_cpu(), settings.share);
    print_turns(turns + part("Last", "last", other, 1 - settings.share));
}

void move(const Settings& settings) {
    const int other = other_cpu(settings);
    const std::int64_t moved = move_to_and_fro(current_cpu(), other, settings.amount);
    std::printf("Moves: %lld\n", static_cast<long long>(moved));
}

void sleep(const Settings& settings) {
    for (std::int64_t i = 0; i < settings.amount; ++i) {
        sleep_for(kSpan);
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::printf("Sleeps: %lld\nLeft the CPU: %ld times\n", static_cast<long long>(settings.amount),
                used.ru_nvcsw);
}

void chase(const Settings& settings) {
    const Chase memory(static_cast<std::size_t>(settings.bytes));
    memory.walk(settings.amount);
    std::printf("Reads: %lld\n", static_cast<long long>(settings.amount));
}

void work(const Settings& settings) {
    const std::map<std::string, void (*)(const Settings&)> works = {
        {"chain", chain}, {"split", split},
        {"move", move},   {"sleep", sleep},
        {"chase", chase}, {"idle", [](const Settings& of) { sleep_for(of.seconds); }},
    };
    works.at(settings.work)(settings);
}

int run(int argc, char** argv) {
    Options options("yardstick", kDescription);
    Settings settings;
    add_options(options, settings);
    if (const auto exit_status =
            options.parse(argc, argv, [&settings] { return why_not(settings); })) {
        return *exit_status;
    }
    const Timer timer;
    work(settings);
    std::printf("Elapsed: %.6f s\n", timer.seconds());
    if (is_emulated()) {
        std::printf("Emulated: 1\n");
    }
    return kExitOk;
}

}  // namespace
}  // namespace pinstudy::yardstick

int main(int argc, char** argv) {
    return pinstudy::run_program("yardstick", pinstudy::yardstick::run, argc, argv);
}
