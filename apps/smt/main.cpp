// smt: the cost of sharing one core for two threads, when they wait and when they compute.
#include <algorithm>
#include <cstdio>

#include "apps/common/memory.hpp"
#include "apps/common/options.hpp"
#include "apps/common/placement.hpp"
#include "apps/common/statistics.hpp"
#include "apps/smt/experiment.hpp"

namespace pinstudy::smt {
namespace {

constexpr const char* kDescription =
    "Measures how long threads take side by side, in one placement: where --pin puts them, or as "
    "they were started (left to the scheduler, or placed by whoever started the program). One work "
    "waits for its additions (accumulate), the other keeps the core's units busy (sin). With "
    "--threads 1 a thread is alone. To compare placements, run a study: pinstudy run affinity.";

struct Settings {
    std::string work = "accumulate";
    std::int64_t threads = 2;
    std::int64_t items = 100000000;  // as published
    std::int64_t rounds = 5;
    AssignedCpus assigned;
};

void add_options(Options& options, Settings& settings) {
    options.word("WORK", settings.work, {"accumulate", "sin", "mixed"},
                 "What the threads do: add their items; add the sines of their items; take turns "
                 "at one and the other");
    options.integer("--threads", settings.threads, 1, 1024, "Threads, each with an array");
    options.integer("--items", settings.items, 1, 4000000000, "Items of an array, 4 bytes each");
    options.integer("--rounds", settings.rounds, 1, 1000000, "Rounds");
    settings.assigned.add_options(options);
}

// Why these settings cannot be together, or cannot be on this node, or an empty text.
std::string why_not(const Settings& settings) {
    if (const std::string reason = settings.assigned.why_not(settings.threads); !reason.empty()) {
        return reason;
    }
    const auto items = static_cast<double>(settings.items) * static_cast<double>(settings.threads);
    return why_too_large("--items", items * sizeof(float));
}

Verdict measure(Team& team, const Settings& settings) {
    const std::string allowed = allowed_text(team);
    const auto items = static_cast<double>(settings.items);
    std::printf("SMT: %d thread%s, each with %.0f floats of its own (%s)\nWork: %s\n",
                team.threads(), team.threads() == 1 ? "" : "s", items,
                readable_bytes(items * sizeof(float)).c_str(), settings.work.c_str());
    Experiment experiment(team, settings.items, works_of(settings.work, settings.threads));
    // Of each round: the mean of the threads' times, the slowest thread's, and the items that a
    // thread of the mean time goes through in a second.
    Samples thread_ms;
    Samples slowest_ms;
    Samples items_per_s;
    for (std::int64_t i = 0; i < settings.rounds; ++i) {
        const std::vector<double> ms = experiment.round();
        thread_ms.push_back(mean(ms));
        slowest_ms.push_back(*std::max_element(ms.begin(), ms.end()));
        items_per_s.push_back(1e3 * items / thread_ms.back());
    }
    std::printf("CPUs: %s\n%s", allowed.c_str(), experiment.seen().lines().c_str());
    std::printf("Rounds: %zu\n", slowest_ms.size());
    std::printf("Thread, median: %.6f ms\n", median(thread_ms));
    std::printf("Slowest thread, median: %.6f ms\n", median(slowest_ms));
    if (slowest_ms.size() > 1) {
        std::printf("Slowest thread, standard deviation: %.6f ms\n",
                    standard_deviation(slowest_ms));
    }
    std::printf("Items, median: %.0f a thread and second\n", median(items_per_s));
    return experiment.check().verdict(static_cast<std::uint64_t>(settings.items));
}

int run(int argc, char** argv) {
    Options options("smt", kDescription);
    Settings settings;
    add_options(options, settings);
    if (const auto exit_status =
            options.parse(argc, argv, [&settings] { return why_not(settings); })) {
        return *exit_status;
    }
    return run_placed(settings.threads, settings.assigned,
                      [&settings](Team& team) { return measure(team, settings); });
}

}  // namespace
}  // namespace pinstudy::smt

int main(int argc, char** argv) {
    return pinstudy::run_program("smt", pinstudy::smt::run, argc, argv);
}
