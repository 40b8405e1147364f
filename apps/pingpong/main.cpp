// pingpong: two threads hand a cache line back and forth; how long that takes, pair by pair.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "apps/common/build_info.hpp"
#include "apps/common/options.hpp"
#include "apps/common/program.hpp"
#include "apps/pingpong/order.hpp"
#include "apps/pingpong/play_pairs.hpp"
#include "apps/pingpong/settings.hpp"
#include "apps/pingpong/team.hpp"

namespace pinstudy::pingpong {
namespace {

// What the command line says.
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

double parse_share(const std::string& text) {
    double share = -1.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
    if (error != std::errc() || end != text.data() + text.size() ||
        !(share >= 0.0 && share < 1.0)) {
        throw std::invalid_argument("expected a share from 0 to less than 1, such as 0.01, got '" +
                                    text + "'");
    }
    return share;
}

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
    options.text(
        "--precision", "SHARE",
        [&](const std::string& text) { request.settings.sampling.precision = parse_share(text); },
        "More samples until half the median's 95 % interval is at most this share of it; 0 for "
        "none (default: 0.01)");
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

int run(int argc, char** argv) {
    Request request;
    Options options("pingpong",
                    "Two threads hand a cache line back and forth: half a round trip, for pairs of "
                    "CPUs, in both directions and with several lines.",
                    version_text("pingpong"));
    add_options(options, request);
    if (const auto exit_status = options.parse(argc, argv)) {
        return *exit_status;
    }
    const bool team = request.threads != 0;
    const std::string misplaced = request.assigned.why_not(request.threads);
    if (!misplaced.empty()) {
        return options.user_error(team ? misplaced : "--pin, --expect: expected --threads 2 too");
    }
    Settings& settings = request.settings;
    settings.sampling.play =
        play_of(settings.method == "cas" ? Method::cas : Method::store, settings.pause);
    settings.sampling.sample_ns = 1e3 * static_cast<double>(request.sample_us);
    settings.sampling.least = static_cast<int>(request.samples);
    settings.sampling.most = static_cast<int>(std::max(request.samples, request.most));
    if (team) {
        return play_as_team(settings, request.assigned);
    }
    if (request.pairs.empty()) {
        request.pairs = all_pairs(allowed_cpus());
    }
    if (request.pairs.empty()) {
        return options.user_error("expected two CPUs or more, may use only CPU " +
                                  format_cpus(allowed_cpus()));
    }
    return play_pairs(request.pairs, settings, request.json_lines);
}

}  // namespace
}  // namespace pinstudy::pingpong

int main(int argc, char** argv) {
    return pinstudy::run_program("pingpong", pinstudy::pingpong::run, argc, argv);
}
