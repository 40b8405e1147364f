#include "apps/pingpong/table.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

namespace pinstudy::pingpong {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr double kMillion = 1e6;

template <typename... Values>
std::string text(const char* format, Values... values) {
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), format, values...);
    return line.data();
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
        if (const Samples samples = all_samples(result); !samples.empty()) {
            const auto [low, high] = std::minmax(result.cpus.first, result.cpus.second);
            const double centre = median(samples);
            cells[{high, low}] = {
                {low, high}, centre, text("%.1f+-%.1f", centre, half_quartile_distance(samples))};
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
    std::string lines = text("%5s", "CPU");
    for (const int column : columns) {
        lines += text("%*d", wide, column);
    }
    for (const int row : rows) {
        lines += text("\n%5d", row);
        std::string line;
        for (const int column : columns) {
            const auto found = cells.find({row, column});
            line += text("%*s", wide, found == cells.end() ? "" : found->second.shown.c_str());
        }
        lines += line.substr(0, line.find_last_not_of(' ') + 1);
    }
    return lines + "\n";
}

std::string extreme(const char* name, const Cell& cell) {
    return text("%s: %.1f ns, CPUs %d and %d\n", name, cell.median_ns, cell.cpus.first,
                cell.cpus.second);
}

std::string summary(const std::vector<PairResult>& results, const Cells& cells) {
    const auto nearer = [](const auto& a, const auto& b) {
        return a.second.median_ns < b.second.median_ns;
    };
    const auto [nearest, farthest] = std::minmax_element(cells.begin(), cells.end(), nearer);
    Samples all;
    for (const PairResult& result : results) {
        const Samples samples = all_samples(result);
        all.insert(all.end(), samples.begin(), samples.end());
    }
    const Rate rate = rate_per_s(all);
    return extreme("Least", nearest->second) + extreme("Most", farthest->second) +
           text(
               "Rate: %.3f million/s one way (harmonic mean of %zu samples, 95 %% interval %.3f "
               "to %.3f)\n",
               rate.mean / kMillion, all.size(), rate.interval.low / kMillion,
               rate.interval.high / kMillion);
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
            lines += text("Left out: CPUs %d and %d: ", result.cpus.first, result.cpus.second) +
                     result.left_out + "\n";
        }
    }
    return lines;
}

}  // namespace pinstudy::pingpong
