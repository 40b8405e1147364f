// lulesh: shock hydrodynamics, as LULESH 2.0.
#include <cstdio>
#include <exception>
#include <new>

#include "apps/common/exit_status.hpp"
#include "apps/common/openmp.hpp"
#include "apps/common/timer.hpp"
#include "apps/common/verdict.hpp"
#include "apps/lulesh/breakdown.hpp"
#include "apps/lulesh/report.hpp"
#include "apps/lulesh/settings.hpp"
#include "apps/lulesh/solver.hpp"
#include "apps/lulesh/verification.hpp"

namespace pinstudy::lulesh {
namespace {

Observer observer_for(const Settings& settings) {
    if (settings.quiet || !(settings.progress || settings.trace)) {
        return {};
    }
    return [&settings](const Domain& domain) {
        if (settings.progress) {
            print_cycle(domain.clock);
        }
        if (settings.trace) {
            print_trace(domain);
        }
    };
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
        print_header(settings, max_threads());
    }
    Domain domain(static_cast<Index>(settings.edge), settings.regions, max_threads());
    const Observer observer = observer_for(settings);
    const Timer timer;
    try {
        run(domain, settings.last_cycle, observer);
    } catch (const Breakdown& breakdown) {
        std::fprintf(stderr, "lulesh: %s in cycle %lld: the solution broke down\n",
                     breakdown.what(), static_cast<long long>(domain.clock.cycle));
        return kExitFailed;
    }
    const double seconds = timer.seconds();
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
