#include "apps/lulesh/regions.hpp"

#include <algorithm>
#include <cmath>

#include "apps/common/glibc_random.hpp"

namespace pinstudy::lulesh {
namespace {

// The sums of k^balance for k up to each region; those that are too large are larger than
// kLargestWeight.
std::vector<std::int64_t> cumulative_weights(std::int64_t regions, std::int64_t balance) {
    std::vector<std::int64_t> cumulative;
    std::int64_t sum = 0;
    for (std::int64_t k = 1; k <= regions; ++k) {
        // A power of whole numbers is exact as long as it is below 2^53.
        const double weight = std::pow(static_cast<double>(k), static_cast<double>(balance));
        sum += static_cast<std::int64_t>(std::min(weight, kLargestWeight + 1.0));
        cumulative.push_back(sum);
    }
    return cumulative;
}

Index draw_region(GlibcRandom& random, const std::vector<std::int64_t>& cumulative) {
    const std::int64_t draw = random.next() % cumulative.back();
    const auto first_above = std::upper_bound(cumulative.begin(), cumulative.end(), draw);
    return static_cast<Index>(first_above - cumulative.begin());
}

// Most runs are short, few are long.
Index draw_run_length(GlibcRandom& random) {
    struct Bin {
        std::uint32_t below, lowest, count;
    };
    constexpr Bin kBins[] = {{773, 1, 15},    {937, 16, 16},   {970, 32, 32},    {974, 64, 64},
                             {978, 128, 128}, {981, 256, 256}, {1000, 512, 1537}};
    const std::uint32_t draw = random.next() % 1000;
    const Bin& bin = *std::find_if(std::begin(kBins), std::end(kBins),
                                   [draw](const Bin& candidate) { return draw < candidate.below; });
    return static_cast<Index>(bin.lowest + random.next() % bin.count);
}

}  // namespace

std::int64_t total_weight(std::int64_t regions, std::int64_t balance) {
    return cumulative_weights(regions, balance).back();
}

std::int64_t eos_repetitions(std::int64_t region, std::int64_t regions, std::int64_t extra_cost) {
    if (region < regions / 2) {
        return 1;
    }
    if (region < regions - (regions + 15) / 20) {
        return 1 + extra_cost;
    }
    return 10 * (1 + extra_cost);
}

std::vector<Index> assign_regions(Index elements, const RegionOptions& options) {
    std::vector<Index> region_of_element(static_cast<std::size_t>(elements), 0);
    if (options.regions == 1) {
        return region_of_element;
    }
    GlibcRandom random(0);
    const std::vector<std::int64_t> cumulative =
        cumulative_weights(options.regions, options.balance);
    Index previous = -1;
    for (std::size_t next = 0; next < region_of_element.size();) {
        Index region = draw_region(random, cumulative);
        while (region == previous) {
            region = draw_region(random, cumulative);
        }
        const auto length = static_cast<std::size_t>(draw_run_length(random));
        const std::size_t end = std::min(next + length, region_of_element.size());
        std::fill(region_of_element.begin() + static_cast<std::ptrdiff_t>(next),
                  region_of_element.begin() + static_cast<std::ptrdiff_t>(end), region);
        next = end;
        previous = region;
    }
    return region_of_element;
}

Regions::Regions(Index element_count, const RegionOptions& options)
    : of_element(assign_regions(element_count, options)),
      elements(static_cast<std::size_t>(options.regions)) {
    for (Index element = 0; element < element_count; ++element) {
        elements[of_element[element]].push_back(element);
    }
    double evaluations = 0.0;
    for (std::int64_t region = 0; region < options.regions; ++region) {
        elements[region].shrink_to_fit();
        repetitions.push_back(eos_repetitions(region, options.regions, options.extra_cost));
        evaluations +=
            static_cast<double>(repetitions.back()) * static_cast<double>(elements[region].size());
    }
    eos_factor = evaluations / element_count;
}

}  // namespace pinstudy::lulesh
