// The frame of a program whose team does timed rounds in placements.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "apps/common/build_info.hpp"
#include "apps/common/led_team.hpp"
#include "apps/common/options.hpp"
#include "apps/common/timing.hpp"

namespace pinstudy {

// Says what is measured. A reader of a pipe sees that the run began.
inline void introduce(const std::string& introduction) {
    std::fputs(introduction.c_str(), stdout);
    std::fflush(stdout);
}

// Does the rounds of all experiments, one after the other. On a terminal, standard error says which
// one is measured, in one line that the next one overwrites. An experiment has a name() and a
// round().
template <typename Experiments>
Results measure(Experiments& experiments, std::int64_t rounds) {
    const bool shows = isatty(STDERR_FILENO) != 0;
    Results results;
    for (auto& experiment : experiments) {
        if (shows) {
            std::fprintf(stderr, "\r\033[Kmeasuring %s", experiment.name().c_str());
        }
        if (auto timed = time_rounds(rounds, [&experiment] { return experiment.round(); })) {
            results[experiment.name()] = *std::move(timed);
        }
    }
    if (shows) {
        std::fputs("\r\033[K", stderr);
    }
    return results;
}

// Reads the command line and has a team measure one placement or all, whichever the settings ask
// for; returns the exit status. Settings have `threads` and `where` (PlacementOptions), and beside
// them in their namespace stand add_options(Options&, Settings&) and why_not(const Settings&).
template <typename Settings, typename MeasureOne, typename MeasureAll>
int run_timed(const char* name, const char* description, int argc, char** argv,
              const MeasureOne& measure_one, const MeasureAll& measure_all) {
    Options options(name, description, version_text(name));
    Settings settings;
    add_options(options, settings);
    if (const auto exit_status = options.parse(argc, argv)) {
        return *exit_status;
    }
    if (const std::string mistake = why_not(settings); !mistake.empty()) {
        return options.user_error(mistake + " (see --help)");
    }
    return lead_team(static_cast<int>(settings.threads), [&](PlacedTeam& team) {
        return settings.where.one_placement() ? measure_one(team, settings)
                                              : measure_all(team, settings, options);
    });
}

}  // namespace pinstudy
