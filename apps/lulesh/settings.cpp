#include "apps/lulesh/settings.hpp"

#include <string>

#include "apps/common/build_info.hpp"
#include "apps/common/memory.hpp"
#include "apps/common/options.hpp"
#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {
namespace {

// What cannot be done although each option is in its range; empty if everything can.
std::string contradiction(const Settings& settings) {
    const RegionOptions& regions = settings.regions;
    if (total_weight(regions.regions, regions.balance) > kLargestWeight) {
        return "-b: the weights k^" + std::to_string(regions.balance) + " of " +
               std::to_string(regions.regions) + " regions (-r) sum to more than " +
               std::to_string(kLargestWeight) + "; choose a smaller -b or -r";
    }
    if (settings.trace && settings.quiet) {
        return "--verify-trace prints, -q forbids it; choose one";
    }
    return why_too_large("-s " + std::to_string(settings.edge), memory_bytes(settings.edge));
}

}  // namespace

std::variant<Settings, int> settings_from(int argc, char** argv) {
    Settings settings;
    bool visualise = false;
    std::int64_t files = 1;
    Options options("lulesh",
                    "Shock hydrodynamics on an unstructured mesh of hexahedra: the Sedov blast "
                    "wave, as LULESH 2.0; threads and schedule are taken from OMP_NUM_THREADS and "
                    "OMP_SCHEDULE (default: static).",
                    version_text("lulesh"));
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
    options.flag("-v", visualise, "Not supported: this program writes no files");
    options.integer("-f", files, 1, 9999999, "Not supported, as -v; the number of its files");
    options.flag("--verify-trace", settings.trace,
                 "Print after each cycle the values of some elements and of a node");
    if (const auto exit_status = options.parse(argc, argv)) {
        return *exit_status;
    }
    if (visualise || files != 1) {
        return options.user_error("-v and -f: this program writes no files for visualisation");
    }
    if (const std::string reason = contradiction(settings); !reason.empty()) {
        return options.user_error(reason);
    }
    return settings;
}

}  // namespace pinstudy::lulesh
