#include "apps/common/placement_options.hpp"

namespace pinstudy {

void PlacementOptions::add_to(Options& options) {
    options.word("--placement", placement, placement_words(), "Which placement to measure");
    options.text(
        "--kinds", "KINDS", [this](const std::string& text) { kinds = text; },
        "Core kinds of the CPUs, such as P=0-7,E=8-15, instead of those the kernel tells");
    options.flag("--single", single,
                 "Measure the threads where --pin puts them, else as they were started, and print "
                 "one value a line");
    assigned.add_options(options);
}

std::string PlacementOptions::why_not(std::int64_t threads) const {
    if (one_placement() && placement != kAllPlacements) {
        return "--placement: expected without --single, --pin and --expect, which say where the "
               "threads are";
    }
    return assigned.why_not(threads);
}

}  // namespace pinstudy
