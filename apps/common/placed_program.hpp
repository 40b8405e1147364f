// The frame of a program whose team does rounds in the one placement that the command line, or
// whoever started the program, gave it.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "apps/common/build_info.hpp"
#include "apps/common/led_team.hpp"
#include "apps/common/options.hpp"
#include "apps/common/verdict.hpp"

namespace pinstudy {

// Prints at once, so that a reader of a pipe sees that the run began.
inline void print_now(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

// Reads the command line, has the threads of a team pin themselves or check their CPUs, and calls
// measure(PlacedTeam&, const Settings&), which prints what it measures and returns the Verdict on
// it. The CPUs are checked again at the end. Returns the exit status. Settings have `threads` and
// `assigned` (AssignedCpus), and beside them in their namespace stand add_options(Options&,
// Settings&) and why_not(const Settings&).
template <typename Settings, typename Measure>
int run_placed(const char* name, const char* description, int argc, char** argv,
               const Measure& measure) {
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
        if (const std::string reason = team.take(settings.assigned); !reason.empty()) {
            throw std::runtime_error(reason);
        }
        if (const std::string reason = team.violation(settings.assigned); !reason.empty()) {
            return report({false, reason});
        }
        const Verdict verdict = measure(team, settings);
        const std::string violation = team.violation(settings.assigned);
        return report(violation.empty() ? verdict : Verdict{false, violation});
    });
}

}  // namespace pinstudy
