#include "apps/smt/settings.hpp"

#include "apps/common/memory.hpp"

namespace pinstudy::smt {

void add_options(Options& options, Settings& settings) {
    options.word("WORK", settings.work, {"accumulate", "sin", "mixed"},
                 "What the threads do: add their items; add the sines of their items; take turns "
                 "at one and the other");
    options.integer("--threads", settings.threads, 1, 1024, "Threads, each with an array");
    options.integer("--items", settings.items, 1, 4000000000, "Items of an array, 4 bytes each");
    options.integer("--rounds", settings.rounds, 1, 1000000, "Rounds");
    settings.assigned.add_options(options);
}

std::string why_not(const Settings& settings) {
    if (const std::string reason = settings.assigned.why_not(settings.threads); !reason.empty()) {
        return reason;
    }
    const auto items = static_cast<double>(settings.items) * static_cast<double>(settings.threads);
    return why_too_large("--items", items * sizeof(float));
}

}  // namespace pinstudy::smt
