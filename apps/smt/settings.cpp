#include "apps/smt/settings.hpp"

#include "apps/common/memory.hpp"
#include "apps/common/node_placements.hpp"

namespace pinstudy::smt {

void add_options(Options& options, Settings& settings) {
    options.word("WORK", settings.work, {"accumulate", "sin", "mixed", "all"},
                 "What the threads do: add their items; add the sines of their items; take turns "
                 "at one and the other");
    options.integer("--threads", settings.threads, 1, 1024, "Threads, each with an array");
    options.integer("--items", settings.items, 1, 4000000000, "Items of an array, 4 bytes each");
    options.integer("--rounds", settings.rounds, 1, 1000000, "Rounds of each placement and work");
    options.word("--placement", settings.placement, placement_words(),
                 "Which placement to measure");
    options.text(
        "--kinds", "KINDS", [&settings](const std::string& text) { settings.kinds = text; },
        "Core kinds of the CPUs, such as P=0-7,E=8-15, instead of those the kernel tells");
    options.flag("--single", settings.single,
                 "Measure the threads where --pin puts them, else as they were started, and print "
                 "one value a line");
    settings.assigned.add_options(options);
}

std::string why_not(const Settings& settings) {
    if (settings.one_placement()) {
        if (settings.work == "all") {
            return "WORK: expected accumulate or sin or mixed with --single, --pin or --expect";
        }
        if (settings.placement != kAllPlacements) {
            return "--placement: expected without --single, --pin and --expect, which say where "
                   "the threads are";
        }
    } else if (settings.threads % 2 != 0) {
        return "--threads: expected an even number, because placements are of pairs, got " +
               std::to_string(settings.threads);
    }
    if (const std::string reason = settings.assigned.why_not(settings.threads); !reason.empty()) {
        return reason;
    }
    const auto items = static_cast<double>(settings.items) * static_cast<double>(settings.threads);
    return why_too_large("--items", items * sizeof(float));
}

}  // namespace pinstudy::smt
