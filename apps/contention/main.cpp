// contention: the cost of two threads' writes to one cache line, by the threads' placement.
#include <cstdio>

#include "apps/common/options.hpp"
#include "apps/common/placement.hpp"
#include "apps/common/statistics.hpp"
#include "apps/contention/experiment.hpp"

namespace pinstudy::contention {
namespace {

constexpr const char* kDescription =
    "Measures what it costs that two threads write to one cache line, in one placement: where "
    "--pin puts the threads, or as they were started (left to the scheduler, or placed by whoever "
    "started the program). To compare placements, and to count cache misses, run a study: pinstudy "
    "run affinity.";

// As published: fetch-adds of an integer, and loads, additions and stores of a float, a thread and
// round.
constexpr std::int64_t kIntegerTimes = 100000;
constexpr std::int64_t kFloatTimes = 262144;

struct Settings {
    std::string operation = "integer";
    std::int64_t threads = 4;
    std::int64_t rounds = 100;
    std::int64_t times = 0;  // 0: as published
    std::string spacing = std::to_string(kApart);
    bool same_line = false;
    AssignedCpus assigned;
};

void add_options(Options& options, Settings& settings) {
    options.word("OPERATION", settings.operation, {"integer", "float"},
                 "What the threads do: fetch-adds of an integer, or load, addition and store of a "
                 "float");
    options.integer("--threads", settings.threads, 2, 1024, "Threads, two a pair");
    options.integer("--rounds", settings.rounds, 1, 1000000, "Rounds");
    // Both threads' additions together must be exact in a float.
    options.integer("--times", settings.times, 0, kMostAdditions / 2,
                    "Additions a thread and round, 0 for the published ones (integer " +
                        std::to_string(kIntegerTimes) + ", float " + std::to_string(kFloatTimes) +
                        ")");
    options.word("--spacing", settings.spacing,
                 {std::to_string(kApart), std::to_string(kNeighbours)},
                 "Bytes between the pairs' atomics; 64 puts them into neighbouring lines, which "
                 "some processors fetch together");
    options.flag("--same-line", settings.same_line,
                 "Put all atomics into one cache line (false sharing)");
    settings.assigned.add_options(options);
}

// Why these settings cannot be together, or an empty text.
std::string why_not(const Settings& settings) {
    if (settings.threads % 2 != 0) {
        return "--threads: expected an even number, two threads a pair, got " +
               std::to_string(settings.threads);
    }
    if (settings.same_line && settings.threads / 2 > kMostInALine) {
        return "--same-line: expected at most " + std::to_string(2 * kMostInALine) +
               " threads, whose " + std::to_string(kMostInALine) +
               " atomics fit into one line, got " + std::to_string(settings.threads);
    }
    return settings.assigned.why_not(settings.threads);
}

void print_introduction(const Settings& settings, Operation operation, std::int64_t additions) {
    std::string layout = settings.spacing + " bytes apart";
    if (settings.same_line) {
        layout = "all in one cache line (false sharing)";
    } else if (settings.spacing == std::to_string(kNeighbours)) {
        layout += " (neighbouring lines)";
    }
    std::printf("Contention: %lld threads, two a pair; each pair adds to one atomic\n",
                static_cast<long long>(settings.threads));
    std::printf("Atomics: %lld, %s\n", static_cast<long long>(settings.threads / 2),
                layout.c_str());
    std::printf("Operation: %s: %lld %s a thread and round\n", settings.operation.c_str(),
                static_cast<long long>(additions),
                operation == Operation::integer ? "fetch-adds" : "loads, additions and stores");
}

Verdict measure(Team& team, const Settings& settings) {
    const Operation operation =
        settings.operation == "integer" ? Operation::integer : Operation::real;
    const std::int64_t published = operation == Operation::integer ? kIntegerTimes : kFloatTimes;
    const std::int64_t additions = settings.times > 0 ? settings.times : published;
    const std::string allowed = allowed_text(team);
    Experiment experiment(team, operation, additions,
                          settings.same_line ? kSameLine : std::stoll(settings.spacing));
    print_introduction(settings, operation, additions);
    Samples ms;
    for (std::int64_t i = 0; i < settings.rounds; ++i) {
        ms.push_back(experiment.round());
    }
    std::printf("CPUs: %s\n%s", allowed.c_str(), experiment.seen().lines().c_str());
    std::printf("Rounds: %zu\n", ms.size());
    std::printf("Round, median: %.6f ms\nRound, mean: %.6f ms\n", median(ms), mean(ms));
    if (ms.size() > 1) {
        std::printf("Round, standard deviation: %.6f ms\n", standard_deviation(ms));
    }
    const auto of_all_threads = static_cast<double>(additions * settings.threads);
    std::printf("Operation, median: %.4f ns\n", 1e6 * median(ms) / of_all_threads);
    if (operation == Operation::real) {
        std::printf("Updates lost: %.1f %%\n", 100.0 * experiment.check().lost_share());
    }
    return experiment.check().verdict();
}

int run(int argc, char** argv) {
    Options options("contention", kDescription);
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
}  // namespace pinstudy::contention

int main(int argc, char** argv) {
    return pinstudy::run_program("contention", pinstudy::contention::run, argc, argv);
}
