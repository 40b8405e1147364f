#include "apps/pingpong/match.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <new>
#include <system_error>

namespace pinstudy::pingpong {
namespace {

std::size_t page_size() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// A page that nobody has touched before, so that its lines have no past in other cores' caches: the
// kernel takes it from the NUMA node of the thread that touches it first.
Page fresh_page() {
    void* const memory =
        mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::bad_alloc();
    }
    return Page(memory);
}

// How often the calling thread was switched out though it wanted to go on.
std::int64_t involuntary_switches() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

// Why a pair is not even tried. The kernel would pin to CPUs that taskset has withheld, but
// taskset's user withheld them on purpose.
std::string not_allowed(const CpuPair& cpus, const Cpus& home) {
    for (const int cpu : {cpus.first, cpus.second}) {
        if (std::find(home.begin(), home.end(), cpu) == home.end()) {
            return "CPU " + std::to_string(cpu) + " is none of those that the process may use (" +
                   format_cpus(home) + ")";
        }
    }
    return "";
}

// Runs a thread of the match, pinned to a CPU.
void play_on(int cpu, Match& match, int thread) {
    if (const std::string wrong = pin_this_thread(cpu); !wrong.empty()) {
        match.pairing().give_up("a thread cannot be pinned to CPU " + std::to_string(cpu) + ": " +
                                wrong);
    }
    match.play(thread);
    // A CPU that went offline has lost its threads to others.
    const int now = current_cpu();
    if (!match.pairing().given_up() && (now != cpu || allowed_cpus() != Cpus{cpu})) {
        match.pairing().give_up("the thread of CPU " + std::to_string(cpu) + " was on CPU " +
                                std::to_string(now) + " at the end");
    }
}

// Lets a thread run on other CPUs than its own.
void let_go(int thread, const Cpus& home) {
    try {
        if (thread != 0) {
            allow_thread(thread, home);
        }
    } catch (const std::system_error&) {
        // The thread has just ended.
    }
}

}  // namespace

void Unmap::operator()(void* memory) const {
    munmap(memory, page_size());
}

void Match::play(int thread) noexcept {
    try {
        play_all(thread);
    } catch (const std::exception& error) {
        pairing_.give_up(error.what());
    }
}

void Match::play_all(int thread) {
    std::vector<Page>& pages = pages_[static_cast<std::size_t>(thread)];
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const bool begins = plan_[i].first_begins == (thread == 0);
        if (begins) {
            void* const page = pages.emplace_back(fresh_page()).get();
            const auto place = static_cast<std::size_t>(plan_[i].slot) * sizeof(Line);
            line_ = new (static_cast<std::byte*>(page) + place) Line;
            pairing_.go_on();
        }
        const std::int64_t before = involuntary_switches();
        if (!pairing_.meet(thread)) {
            return;
        }
        if (begins) {
            runs_[i].run = begin(*line_, sampling_, i == 0, pairing_, thread);
        } else {
            runs_[i].answers = answer(*line_, sampling_.play, pairing_, thread);
        }
        runs_[i].switches_of_thread[static_cast<std::size_t>(thread)] =
            involuntary_switches() - before;
        if (!pairing_.meet(thread)) {
            return;
        }
    }
}

std::string wrong_count(const std::vector<PlayedRun>& runs) {
    for (const PlayedRun& played : runs) {
        if (played.run.value != played.run.turns + played.answers ||
            played.run.turns != played.answers) {
            return "the threads handed the line over " + std::to_string(played.run.turns) +
                   " and " + std::to_string(played.answers) + " times, and it counted " +
                   std::to_string(played.run.value);
        }
    }
    return "";
}

PairResult measure_pair(const PairPlan& plan, const Sampling& sampling, const Cpus& home,
                        std::chrono::milliseconds patience) {
    PairResult result{plan.cpus, plan.runs, {}, not_allowed(plan.cpus, home), false};
    if (!result.left_out.empty()) {
        return result;
    }
    Match match(plan.runs, sampling, patience);
    Pairing& pairing = match.pairing();
    std::array<std::atomic<int>, 2> numbers{};
    const auto start = [&](std::size_t thread, int cpu) {
        return std::async(std::launch::async, [&match, &numbers, thread, cpu] {
            numbers[thread] = gettid();
            play_on(cpu, match, static_cast<int>(thread));
        });
    };
    const std::array ends{start(0, plan.cpus.first), start(1, plan.cpus.second)};
    const auto ended = [patience](const std::future<void>& end) {
        return end.wait_for(patience) == std::future_status::ready;
    };
    // A thread that runs notices by itself when the other one does not. When neither can run,
    // nothing moves.
    for (std::int64_t before = -1; !std::all_of(ends.begin(), ends.end(), ended);) {
        const std::int64_t now = pairing.progress();
        if (now == before) {
            pairing.give_up("neither thread could run; something keeps them from their CPUs");
        }
        if (pairing.given_up()) {
            let_go(numbers[0], home);
            let_go(numbers[1], home);
        }
        before = now;
    }
    result.left_out = pairing.reason();
    if (!pairing.given_up()) {
        result.runs = match.runs();
        result.left_out = wrong_count(result.runs);
        result.check_failed = !result.left_out.empty();
    }
    return result;
}

}  // namespace pinstudy::pingpong
