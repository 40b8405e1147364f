// lulesh: shock hydrodynamics, as LULESH 2.0.
#include <cstdio>
#include <exception>
#include <new>

#include "apps/common/exit_status.hpp"
#include "apps/common/schedule.hpp"
#include "apps/common/timer.hpp"
#include "apps/common/verdict.hpp"
#include "apps/lulesh/report.hpp"
#include "apps/lulesh/settings.hpp"
#include "apps/lulesh/solver.hpp"
#include "apps/lulesh/team.hpp"
#include "apps/lulesh/verification.hpp"

namespace pinstudy::lulesh {
namespace {

Observer observer_for(const Settings& settings) {
    if (settings.quiet || !(settings.progress || settings.trace)) {
        return {};
    }
    return [&settings, trace = Trace()](const Domain& domain, const Clock& clock) mutable {
        if (settings.progress) {
            print_cycle(clock);
        }
        if (settings.trace) {
            trace.print(domain, clock);
        }
    };
}

int report_breakdown(const char* what, const Domain& domain) {
    std::fprintf(stderr, "lulesh: %s in cycle %lld: the solution broke down\n", what,
                 static_cast<long long>(domain.clock.cycle));
    return kExitFailed;
}

int report_results(const Settings& settings, const Domain& domain, double seconds) {
    const Summary summary = summarise(domain);
    const Verdict verdict = check(summary);
    if (!settings.quiet) {
        print_results(summary, seconds);
        report(verdict);
    }
    if (!verdict.passed) {
        std::fprintf(stderr, "lulesh: the check of the result failed: %s\n",
                     verdict.reason.c_str());
        return kExitCheckFailed;
    }
    return kExitOk;
}

int run(const Settings& settings) {
    default_to_static_schedule(0);
    if (!settings.quiet) {
        print_header(settings, size_of_next_team());
    }
    Domain domain(static_cast<Index>(settings.edge), settings.regions);
    const Observer observer = observer_for(settings);
    const Timer timer;
    const Outcome outcome = run(domain, settings.last_cycle, observer);
    const double seconds = timer.seconds();
    switch (outcome) {
        case Outcome::kNegativeVolume:
            return report_breakdown("an element's volume is not positive", domain);
        case Outcome::kViscosityOutOfBounds:
            return report_breakdown("an artificial viscosity is above qstop (1e12)", domain);
        case Outcome::kFinished:
            break;
    }
    return report_results(settings, domain, seconds);
}

}  // namespace
}  // namespace pinstudy::lulesh

int main(int argc, char** argv) {
    using namespace pinstudy::lulesh;
    try {
        const auto settings = settings_from(argc, argv);
        if (const int* const exit_status = std::get_if<int>(&settings)) {
            return *exit_status;
        }
        return run(std::get<Settings>(settings));
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "lulesh: not enough memory; choose a smaller -s\n");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "lulesh: %s\n", error.what());
    }
    return pinstudy::kExitFailed;
}
