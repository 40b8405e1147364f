// The frame of a program whose team does rounds in placements, timed by Google Benchmark.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "apps/common/build_info.hpp"
#include "apps/common/led_team.hpp"
#include "apps/common/options.hpp"
#include "apps/common/timing.hpp"

namespace pinstudy {

// Says what is measured, unless the standard output is Google Benchmark's.
inline void introduce(const std::string& introduction, const Timing& timing) {
    if (!timing.has_the_output()) {
        std::fputs(introduction.c_str(), stdout);
        // A reader of a pipe sees that the run began.
        std::fflush(stdout);
    }
}

// Reads the command line and has a team measure one placement or all, whichever the settings ask
// for; returns the exit status. Settings have `threads` and `where` (PlacementOptions), and beside
// them in their namespace stand add_options(Options&, Settings&) and why_not(const Settings&).
template <typename Settings, typename MeasureOne, typename MeasureAll>
int run_timed(const char* name, const char* description, int argc, char** argv,
              const MeasureOne& measure_one, const MeasureAll& measure_all) {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    Timing timing(argv[0], arguments);
    Options options(name, description, version_text(name));
    Settings settings;
    add_options(options, settings);
    if (const auto exit_status = options.parse(arguments)) {
        return *exit_status;
    }
    for (const std::string& mistake : {timing.mistake(), why_not(settings)}) {
        if (!mistake.empty()) {
            return options.user_error(mistake + " (see --help)");
        }
    }
    return lead_team(static_cast<int>(settings.threads), [&](PlacedTeam& team) {
        return settings.where.one_placement() ? measure_one(team, settings, timing)
                                              : measure_all(team, settings, timing, options);
    });
}

}  // namespace pinstudy
