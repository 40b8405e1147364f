// lulesh: shock hydrodynamics, as LULESH 2.0.
#include <cinttypes>
#include <cstdio>

#include "apps/common/memory.hpp"
#include "apps/common/openmp.hpp"
#include "apps/common/options.hpp"
#include "apps/common/program.hpp"
#include "apps/common/timer.hpp"
#include "apps/lulesh/solver.hpp"
#include "apps/lulesh/verification.hpp"

namespace pinstudy::lulesh {
namespace {

struct Settings {
    std::int64_t edge = 30;             // -s
    std::int64_t last_cycle = 9999999;  // -i
    RegionOptions regions;              // -r, -b, -c
    bool progress = false;              // -p
    bool quiet = false;                 // -q
    bool visualise = false;             // -v
    std::int64_t files = 1;             // -f
};

void add_options(Options& options, Settings& settings) {
    options.integer("-s", settings.edge, 1, kLargestEdge, "Elements on an edge of the cube");
    options.integer("-i", settings.last_cycle, 1, 9999999,
                    "Cycles after which to stop, if the time 0.01 is not reached before");
    options.integer("-r", settings.regions.regions, 1, 65535, "Material regions");
    options.integer("-b", settings.regions.balance, 0, 31,
                    "Balance of regions: the k-th is drawn with weight k^N");
    options.integer("-c", settings.regions.extra_cost, 0, 1000000,
                    "Extra cost of the upper half of the regions: their equation of state is "
                    "evaluated 1+N times, that of the last twentieth 10(1+N) times");
    options.flag("-p", settings.progress, "Print a line for each cycle");
    options.flag("-q", settings.quiet, "Print nothing");
    options.flag("-v", settings.visualise, "Not supported: this program writes no files");
    options.integer("-f", settings.files, 1, 9999999,
                    "Not supported, as -v; the number of its files");
}

// Why options that are each in range cannot go together; empty if they can.
std::string contradiction(const Settings& settings) {
    const RegionOptions& regions = settings.regions;
    if (total_weight(regions.regions, regions.balance) > kLargestWeight) {
        return "-b: the weights k^" + std::to_string(regions.balance) + " of " +
               std::to_string(regions.regions) + " regions (-r) sum to more than " +
               std::to_string(kLargestWeight) + "; choose a smaller -b or -r";
    }
    if (settings.visualise || settings.files != 1) {
        return "-v and -f: this program writes no files for visualisation";
    }
    return why_too_large("-s " + std::to_string(settings.edge), memory_bytes(settings.edge));
}

// The lines of LULESH 2.0, so that one reader can read both.
void print_header(const Settings& settings) {
    const auto edge = settings.edge;
    std::printf("Running problem size %" PRId64 "^3 per domain until completion\n", edge);
    std::printf("Num processors: 1\n");
    if (has_openmp()) {
        std::printf("Num threads: %d\n", max_threads());
    }
    std::printf("Total number of elements: %" PRId64 " \n\n", edge * edge * edge);
    std::printf(
        "To choose another size, use -s <edge>.\n"
        "To stop after some cycles, use -i <cycles>.\n"
        "To make the regions more or less equal in size, use -b <exponent>.\n"
        "To make some regions more or less expensive, use -c <cost>.\n"
        "To see the progress, use -p\n"
        "To write files for visualisation (-v), use another program.\n"
        "See help (-h) for more options\n\n");
}

void print_cycle(const Clock& clock) {
    std::printf("cycle = %" PRId64 ", time = %e, dt=%e\n", clock.cycle, clock.time, clock.dt);
}

// `seconds` is the wall time of the time loop.
void print_results(const Summary& summary, double seconds) {
    std::printf("Run completed:\n");
    std::printf("   Problem size        =  %" PRId32 "\n", summary.edge);
    std::printf("   MPI tasks           =  1\n");
    std::printf("   Iteration count     =  %" PRId64 "\n", summary.cycles);
    std::printf("   Final Origin Energy =  %12.6e\n", summary.origin_energy);
    std::printf("   Testing Plane 0 of Energy Array on rank 0:\n");
    std::printf("        MaxAbsDiff   = %12.6e\n", summary.symmetry.largest);
    std::printf("        TotalAbsDiff = %12.6e\n", summary.symmetry.total);
    std::printf("        MaxRelDiff   = %12.6e\n\n", summary.symmetry.largest_relative);

    const double edge = summary.edge;
    const double element_cycles = edge * edge * edge * static_cast<double>(summary.cycles);
    // "overall" has been the elapsed time since version 2.0.3, and the figure of merit has always
    // been in thousands of elements a second, whatever the labels say.
    const double grind_time = seconds * 1.0e6 / element_cycles;
    std::printf("Elapsed time         = %10.2g (s)\n", seconds);
    std::printf("Grind time (us/z/c)  = %10.8g (per dom)  (%10.8g overall)\n", grind_time, seconds);
    std::printf("FOM                  = %10.8g (z/s)\n\n", 1000.0 / grind_time);
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

int simulate(int argc, char** argv) {
    Settings settings;
    Options options("lulesh",
                    "Shock hydrodynamics on an unstructured mesh of hexahedra: the Sedov blast "
                    "wave, as LULESH 2.0; threads and schedule are taken from OMP_NUM_THREADS and "
                    "OMP_SCHEDULE (default: static).");
    add_options(options, settings);
    if (const auto exit_status = options.parse(argc, argv)) {
        return *exit_status;
    }
    if (const std::string reason = contradiction(settings); !reason.empty()) {
        return options.user_error(reason);
    }
    default_to_static_schedule(0);
    if (!settings.quiet) {
        print_header(settings);
    }
    Domain domain(static_cast<Index>(settings.edge), settings.regions, max_threads());
    Observer observer;
    if (settings.progress && !settings.quiet) {
        observer = [](const Domain& now) { print_cycle(now.clock); };
    }
    const Timer timer;
    try {
        run(domain, settings.last_cycle, observer);
    } catch (const Breakdown& breakdown) {
        std::fprintf(stderr, "lulesh: %s in cycle %" PRId64 ": the solution broke down\n",
                     breakdown.what(), domain.clock.cycle);
        return kExitFailed;
    }
    return report_results(settings, domain, timer.seconds());
}

}  // namespace
}  // namespace pinstudy::lulesh

int main(int argc, char** argv) {
    return pinstudy::run_program("lulesh", pinstudy::lulesh::simulate, argc, argv);
}
