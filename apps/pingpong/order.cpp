#include "apps/pingpong/order.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

#include "apps/pingpong/handover.hpp"

namespace pinstudy::pingpong {
namespace {

constexpr std::string_view kSeparators = ", \t\r\n";

CpuPair parse_pair(std::string_view item) {
    const std::size_t colon = item.find(':');
    try {
        if (colon != std::string_view::npos) {
            const Cpus first = parse_cpus(item.substr(0, colon));
            const Cpus second = parse_cpus(item.substr(colon + 1));
            if (first.size() == 1 && second.size() == 1) {
                return {first[0], second[0]};
            }
        }
    } catch (const std::invalid_argument&) {
    }
    throw std::invalid_argument("'" + std::string(item) +
                                "' is no pair of CPUs; expected pairs such as 0:1,0:2");
}

}  // namespace

std::vector<CpuPair> parse_pairs(std::string_view text) {
    std::vector<CpuPair> pairs;
    std::set<std::pair<int, int>> seen;
    while (true) {
        const std::size_t begin = text.find_first_not_of(kSeparators);
        if (begin == std::string_view::npos) {
            break;
        }
        text.remove_prefix(begin);
        const std::string_view item = text.substr(0, text.find_first_of(kSeparators));
        text.remove_prefix(item.size());
        const CpuPair pair = parse_pair(item);
        if (pair.first == pair.second) {
            throw std::invalid_argument("'" + std::string(item) +
                                        "' is one CPU; two threads there switch, no line is "
                                        "handed over; expected two different CPUs");
        }
        if (!seen.insert(std::minmax(pair.first, pair.second)).second) {
            throw std::invalid_argument("'" + std::string(item) +
                                        "' stands twice; both directions of a pair are measured");
        }
        pairs.push_back(pair);
    }
    if (pairs.empty()) {
        throw std::invalid_argument("there is no pair; expected pairs such as 0:1,0:2");
    }
    return pairs;
}

std::vector<CpuPair> all_pairs(const Cpus& cpus) {
    std::vector<CpuPair> pairs;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        for (std::size_t j = i + 1; j < cpus.size(); ++j) {
            pairs.push_back({cpus[i], cpus[j]});
        }
    }
    return pairs;
}

std::vector<PairPlan> shuffled(std::vector<CpuPair> pairs, int addresses, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::shuffle(pairs.begin(), pairs.end(), random);
    std::uniform_int_distribution slot(0, kSlots - 1);
    std::vector<PairPlan> plans;
    for (const CpuPair& pair : pairs) {
        PairPlan plan{pair, {}};
        for (int address = 0; address < addresses; ++address) {
            for (const bool first_begins : {true, false}) {
                plan.runs.push_back({first_begins, address, slot(random)});
            }
        }
        std::shuffle(plan.runs.begin(), plan.runs.end(), random);
        plans.push_back(std::move(plan));
    }
    return plans;
}

}  // namespace pinstudy::pingpong
