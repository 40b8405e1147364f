// pingpong: two threads hand a cache line back and forth; how long that takes, pair by pair.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "apps/common/options.hpp"
#include "apps/common/placement.hpp"
#include "apps/common/timer.hpp"
#include "apps/pingpong/report.hpp"

namespace pinstudy::pingpong {
namespace {

// The settings of the command line.
struct Request {
    Settings settings;
    std::int64_t samples = 30;
    std::int64_t most = 300;
    std::int64_t sample_us = 50;
    std::int64_t threads = 0;
    std::vector<CpuPair> pairs;
    bool json_lines = false;
    AssignedCpus assigned;
};

std::vector<CpuPair> read_pairs(const std::string& path) {
    std::ifstream file;
    if (path != "-") {
        file.open(path);
        if (!file) {
            throw std::invalid_argument("'" + path + "' cannot be read");
        }
    }
    std::istream& stream = path == "-" ? std::cin : file;
    return parse_pairs(std::string(std::istreambuf_iterator<char>(stream), {}));
}

void add_options(Options& options, Request& request) {
    options.word("--method", request.settings.method, {"cas", "store"},
                 "Hand over by compare-exchange, or by load and store");
    options.text(
        "--pairs", "LIST", [&](const std::string& text) { request.pairs = parse_pairs(text); },
        "Pairs of CPUs, such as 0:1,0:2 (default: all of the allowed CPUs)");
    options.text(
        "--pairs-from", "FILE", [&](const std::string& path) { request.pairs = read_pairs(path); },
        "The same from a file; - is standard input");
    options.integer("--addresses", request.settings.addresses, 1, 32, "Lines of each direction");
    options.integer("--samples", request.samples, 10, 10000, "Samples of each line, at least");
    options.real(
        "--precision", "SHARE", request.settings.sampling.precision, 0, 1,
        "More samples until half the median's 95 % interval is at most this share of it; 0 "
        "for none");
    options.integer("--most", request.most, 10, 10000, "Samples of each line, at most");
    options.integer("--sample-us", request.sample_us, 1, 1'000'000, "Microseconds of a sample");
    options.integer("--seed", request.settings.seed, 0, std::int64_t{1} << 32,
                    "Shuffles the order of pairs, directions and lines");
    options.flag("--pause", request.settings.pause, "Tell the processor that the threads spin");
    options.flag("--json-lines", request.json_lines, "One JSON object a line, each pair at once");
    options.integer("--threads", request.threads, 2, 2,
                    "Play once, as a team of two threads wherever they are: for studies");
    request.assigned.add_options(options);
}

void print_per_s(const char* name, double rate) {
    if (std::isfinite(rate)) {
        std::printf("%s: %.0f /s\n", name, rate);
    } else {
        std::printf("%s: n/a (the samples differ too much)\n", name);
    }
}

// The run inside a study, of a team that is placed by others or by itself: one run of the least
// number of samples, as every run of a case shall have the same number, one value a line.
Verdict play_as_team(Team& team, const Settings& settings) {
    const std::vector<RunPlan> plan{RunPlan{}};
    Sampling sampling = settings.sampling;
    sampling.precision = 0.0;
    Match match(plan, sampling);
    team.round([&match](int thread) { match.play(thread); });
    if (match.pairing().given_up()) {
        throw std::runtime_error(match.pairing().reason());
    }
    const PlayedRun& played = match.runs().front();
    const Samples& samples = played.run.one_way_ns;
    const Rate rate = rate_per_s(samples);
    std::printf("Method: %s, %lld round trips a sample\n", settings.method.c_str(),
                static_cast<long long>(played.run.round_trips));
    std::printf("Latency median: %.3f ns\n", median(samples));
    std::printf("Latency mean: %.3f ns\n", mean(samples));
    std::printf("Latency sd: %.3f ns\n", standard_deviation(samples));
    print_per_s("Rate", rate.mean);
    print_per_s("Rate low", rate.interval.low);
    print_per_s("Rate high", rate.interval.high);
    std::printf("Samples: %zu\n", samples.size());
    std::printf("Switched out: %lld times\n", static_cast<long long>(played.switches()));
    if (const std::int64_t yields = match.pairing().yields(); yields > 0) {
        std::printf(
            "Both threads were on one CPU %lld times: a hand-over there is a context switch, no "
            "transfer of a line\n",
            static_cast<long long>(yields));
    }
    const std::string wrong = wrong_count(match.runs());
    return {wrong.empty(), wrong.empty() ? "the line counted " + std::to_string(played.run.value) +
                                               " hand-overs, as both threads did"
                                         : wrong};
}

// Measures the pairs in a shuffled order and prints the results. A pair that cannot be measured
// is left out with the reason. Returns the program's exit status.
int play_pairs(const std::vector<CpuPair>& pairs, const Settings& settings, double clock_ns,
               bool json_lines) {
    // For a longer wait, the expected time is printed.
    constexpr double kLongS = 5.0;
    const std::vector<PairPlan> plans = shuffled(pairs, static_cast<int>(settings.addresses),
                                                 static_cast<std::uint64_t>(settings.seed));
    const Timer timer;
    const Cpus home = allowed_cpus();
    std::vector<PairResult> results;
    std::size_t measured = 0;
    bool wrong = false;
    if (json_lines) {
        std::puts(header_line(settings, plans.size(), clock_ns).c_str());
    }
    for (const PairPlan& plan : plans) {
        PairResult result = measure_pair(plan, settings.sampling, home);
        measured += result.left_out.empty() ? 1 : 0;
        wrong = wrong || result.check_failed;
        if (json_lines) {
            std::puts(pair_line(result).c_str());
            continue;
        }
        results.push_back(std::move(result));
        const double all_s = timer.seconds() * static_cast<double>(plans.size());
        if (results.size() == 1 && all_s > kLongS) {
            std::fprintf(stderr, "pingpong: %zu pairs, about %.0f s\n", plans.size(), all_s);
        }
    }
    if (json_lines) {
        std::puts(end_line(measured, plans.size() - measured, timer.seconds()).c_str());
    } else {
        std::fputs(table(results, settings.method).c_str(), stdout);
    }
    if (wrong) {
        std::fputs("pingpong: a line has counted wrongly\n", stderr);
        return kExitCheckFailed;
    }
    if (measured == 0) {
        throw std::runtime_error("none of the pairs could be measured");
    }
    return kExitOk;
}

int run(int argc, char** argv) {
    Request request;
    Options options("pingpong",
                    "Two threads hand a cache line back and forth: half a round trip, for pairs of "
                    "CPUs, in both directions and with several lines.");
    add_options(options, request);
    if (const auto exit_status = options.parse(argc, argv)) {
        return *exit_status;
    }
    const bool team = request.threads != 0;
    const std::string misplaced = request.assigned.why_not(request.threads);
    if (!misplaced.empty()) {
        return options.user_error(team ? misplaced : "--pin, --expect: expected --threads 2 too");
    }
    const double clock_ns = clock_cost_ns();
    Settings& settings = request.settings;
    settings.sampling.play =
        play_of(settings.method == "cas" ? Method::cas : Method::store, settings.pause);
    settings.sampling.sample_ns =
        long_enough_ns(1e3 * static_cast<double>(request.sample_us), clock_ns);
    settings.sampling.least = static_cast<int>(request.samples);
    settings.sampling.most = static_cast<int>(std::max(request.samples, request.most));
    if (team) {
        return run_placed(2, request.assigned,
                          [&settings](Team& both) { return play_as_team(both, settings); });
    }
    if (request.pairs.empty()) {
        request.pairs = all_pairs(allowed_cpus());
    }
    if (request.pairs.empty()) {
        return options.user_error("expected two CPUs or more, may use only CPU " +
                                  format_cpus(allowed_cpus()));
    }
    return play_pairs(request.pairs, settings, clock_ns, request.json_lines);
}

}  // namespace
}  // namespace pinstudy::pingpong

int main(int argc, char** argv) {
    return pinstudy::run_program("pingpong", pinstudy::pingpong::run, argc, argv);
}
