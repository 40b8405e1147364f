#include "apps/contention/settings.hpp"

namespace pinstudy::contention {

Operation Settings::operation() const {
    return word == "integer" ? Operation::integer : Operation::real;
}

std::int64_t Settings::additions() const {
    if (times > 0) {
        return times;
    }
    return operation() == Operation::integer ? kIntegerTimes : kFloatTimes;
}

std::string name_of(Operation operation) {
    return operation == Operation::integer ? "integer" : "float";
}

void add_options(Options& options, Settings& settings) {
    options.word("OPERATION", settings.word, {"integer", "float"},
                 "What the threads do: fetch-adds of an integer, or load, addition and store of a "
                 "float");
    options.integer("--threads", settings.threads, 2, 1024, "Threads, two a pair");
    options.integer("--rounds", settings.rounds, 1, 1000000, "Rounds");
    // Both threads' additions together must be exact in a float.
    options.integer("--times", settings.times, 0, kMostAdditions / 2,
                    "Additions a thread and round, 0 for the published ones (integer " +
                        std::to_string(kIntegerTimes) + ", float " + std::to_string(kFloatTimes) +
                        ")");
    options.one_of("--spacing", settings.spacing, {kApart, kNeighbours},
                   "Bytes between the pairs' atomics; 64 puts them into neighbouring lines, which "
                   "some processors fetch together");
    options.flag("--same-line", settings.same_line,
                 "Put all atomics into one cache line (false sharing)");
    settings.assigned.add_options(options);
}

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

}  // namespace pinstudy::contention
