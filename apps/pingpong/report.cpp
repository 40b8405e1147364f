#include "apps/pingpong/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/common/program.hpp"

namespace pinstudy::pingpong {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr double kMillion = 1e6;

using Json = nlohmann::ordered_json;

void add_samples(Samples& samples, const PairResult& result) {
    for (const PlayedRun& played : result.runs) {
        samples.insert(samples.end(), played.run.one_way_ns.begin(), played.run.one_way_ns.end());
    }
}

struct Cell {
    CpuPair cpus;
    double median_ns = 0.0;
    std::string shown;
};

// Cells by the higher and the lower CPU of the pair.
using Cells = std::map<std::pair<int, int>, Cell>;

Cells cells_of(const std::vector<PairResult>& results) {
    Cells cells;
    for (const PairResult& result : results) {
        Samples samples;
        add_samples(samples, result);
        if (!samples.empty()) {
            const auto [low, high] = std::minmax(result.cpus.first, result.cpus.second);
            const double centre = median(samples);
            cells[{high, low}] = {{low, high},
                                  centre,
                                  printed("%.1f+-%.1f", centre, half_quartile_distance(samples))};
        }
    }
    return cells;
}

std::string matrix(const Cells& cells) {
    std::set<int> rows;
    std::set<int> columns;
    std::size_t width = 5;
    for (const auto& [place, cell] : cells) {
        rows.insert(place.first);
        columns.insert(place.second);
        width = std::max(width, cell.shown.size());
    }
    const int wide = static_cast<int>(width) + 2;
    std::string lines = "  CPU";
    for (const int column : columns) {
        lines += printed("%*d", wide, column);
    }
    for (const int row : rows) {
        lines += printed("\n%5d", row);
        std::string line;
        for (const int column : columns) {
            const auto found = cells.find({row, column});
            line += printed("%*s", wide, found == cells.end() ? "" : found->second.shown.c_str());
        }
        lines += line.substr(0, line.find_last_not_of(' ') + 1);
    }
    return lines + "\n";
}

std::string summary(const std::vector<PairResult>& results, const Cells& cells) {
    const auto [nearest, farthest] = std::minmax_element(
        cells.begin(), cells.end(),
        [](const auto& a, const auto& b) { return a.second.median_ns < b.second.median_ns; });
    const auto extreme = [](const char* name, const Cell& cell) {
        return printed("%s: %.1f ns, CPUs %d and %d\n", name, cell.median_ns, cell.cpus.first,
                       cell.cpus.second);
    };
    Samples all;
    for (const PairResult& result : results) {
        add_samples(all, result);
    }
    const Rate rate = rate_per_s(all);
    return extreme("Least", nearest->second) + extreme("Most", farthest->second) +
           printed(
               "Rate: %.3f million/s one way (harmonic mean of %zu samples, 95 %% interval %.3f "
               "to %.3f)\n",
               rate.mean / kMillion, all.size(), rate.interval.low / kMillion,
               rate.interval.high / kMillion);
}

double in_thousandths(double value) {
    return std::round(1e3 * value) / 1e3;
}

Json run_object(const CpuPair& cpus, const RunPlan& plan, const PlayedRun& played) {
    Json one_way_ns = Json::array();
    for (const double sample : played.run.one_way_ns) {
        one_way_ns.push_back(in_thousandths(sample));
    }
    return {{"from", plan.first_begins ? cpus.first : cpus.second},
            {"to", plan.first_begins ? cpus.second : cpus.first},
            {"address", plan.address},
            {"round_trips", played.run.round_trips},
            {"one_way_ns", one_way_ns},
            {"switched", played.switches()}};
}

}  // namespace

Rate rate_per_s(const Samples& one_way_ns) {
    const Interval times = mean_interval(one_way_ns);
    const double fastest =
        times.low > 0.0 ? kNanoseconds / times.low : std::numeric_limits<double>::infinity();
    return {kNanoseconds / mean(one_way_ns), {kNanoseconds / times.high, fastest}};
}

std::string table(const std::vector<PairResult>& results, const std::string& method) {
    const Cells cells = cells_of(results);
    std::string lines;
    if (!cells.empty()) {
        lines = "Half a round trip in ns, method " + method +
                ": median of both directions +- half the distance of the quartiles\n\n" +
                matrix(cells) + "\n" + summary(results, cells);
    }
    for (const PairResult& result : results) {
        if (!result.left_out.empty()) {
            lines += printed("Left out: CPUs %d and %d: ", result.cpus.first, result.cpus.second) +
                     result.left_out + "\n";
        }
    }
    return lines;
}

std::string header_line(const Settings& settings, std::size_t pairs, double clock_ns) {
    const Sampling& sampling = settings.sampling;
    return Json{{"pingpong", 1},
                {"method", settings.method},
                {"pause", settings.pause},
                {"sample_ns", sampling.sample_ns},
                {"samples_least", sampling.least},
                {"samples_most", sampling.most},
                {"precision", sampling.precision},
                {"addresses", settings.addresses},
                {"seed", settings.seed},
                {"pairs", pairs},
                {"clock_ns", clock_ns}}
        .dump();
}

std::string pair_line(const PairResult& result) {
    Json pair{{"cpus", {result.cpus.first, result.cpus.second}}};
    if (!result.left_out.empty()) {
        pair["left_out"] = result.left_out;
        return pair.dump();
    }
    Json& runs = pair["runs"] = Json::array();
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
        runs.push_back(run_object(result.cpus, result.plan[i], result.runs[i]));
    }
    return pair.dump();
}

std::string end_line(std::size_t measured, std::size_t left_out, double elapsed_s) {
    return Json{{"end", true},
                {"measured", measured},
                {"left_out", left_out},
                {"elapsed_s", in_thousandths(elapsed_s)}}
        .dump();
}

}  // namespace pinstudy::pingpong
