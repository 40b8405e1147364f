#include "apps/pingpong/play_pairs.hpp"

#include <cstdio>

#include "apps/common/exit_status.hpp"
#include "apps/common/timer.hpp"
#include "apps/pingpong/json_lines.hpp"
#include "apps/pingpong/table.hpp"

namespace pinstudy::pingpong {
namespace {

// Somebody who waits longer wants to know how long.
constexpr double kLongS = 5.0;

// How many pairs ended in which way.
struct Tally {
    std::size_t measured = 0;
    std::size_t left_out = 0;
    std::size_t check_failed = 0;

    void count(const PairResult& result) {
        measured += result.left_out.empty() ? 1 : 0;
        left_out += result.left_out.empty() ? 0 : 1;
        check_failed += result.check_failed ? 1 : 0;
    }

    int exit_status() const {
        if (check_failed > 0) {
            return kExitCheckFailed;
        }
        return measured > 0 ? kExitOk : kExitFailed;
    }
};

void print_line(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

Tally print_lines(const std::vector<PairPlan>& plans, const Settings& settings, double clock_ns) {
    const Timer timer;
    const Cpus home = allowed_cpus();
    Tally tally;
    print_line(header_line(settings, plans.size(), clock_ns));
    for (const PairPlan& plan : plans) {
        const PairResult result = measure_pair(plan, settings.sampling, home);
        tally.count(result);
        print_line(pair_line(result));
    }
    print_line(end_line(tally.measured, tally.left_out, timer.seconds()));
    return tally;
}

Tally print_table(const std::vector<PairPlan>& plans, const Settings& settings) {
    const Timer timer;
    const Cpus home = allowed_cpus();
    Tally tally;
    std::vector<PairResult> results;
    for (const PairPlan& plan : plans) {
        results.push_back(measure_pair(plan, settings.sampling, home));
        tally.count(results.back());
        const double all_s = timer.seconds() * static_cast<double>(plans.size());
        if (results.size() == 1 && all_s > kLongS) {
            std::fprintf(stderr, "pingpong: %zu pairs, about %.0f s\n", plans.size(), all_s);
        }
    }
    std::fputs(table(results, settings.method).c_str(), stdout);
    return tally;
}

}  // namespace

int play_pairs(const std::vector<CpuPair>& pairs, const Settings& settings, bool json_lines) {
    const std::vector<PairPlan> plans = shuffled(pairs, static_cast<int>(settings.addresses),
                                                 static_cast<std::uint64_t>(settings.seed));
    const double clock_ns = clock_cost_ns();
    Settings used = settings;
    used.sampling.sample_ns = long_enough_ns(settings.sampling.sample_ns, clock_ns);
    const Tally tally = json_lines ? print_lines(plans, used, clock_ns) : print_table(plans, used);
    if (tally.exit_status() != kExitOk) {
        std::fprintf(stderr, "pingpong: %s\n",
                     tally.check_failed > 0 ? "a line has counted wrongly"
                                            : "none of the pairs could be measured");
    }
    return tally.exit_status();
}

}  // namespace pinstudy::pingpong
