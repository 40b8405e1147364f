#include "apps/threadmap/core_kinds.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pinstudy::threadmap {
namespace {

struct CorePmu {
    const char* name;
    const char* kind;
};

// Linux arch/x86/events/intel/core.c. cpu_lowpower is there on Arrow Lake-H only; other processors
// keep LP-E cores in cpu_atom.
constexpr std::array<CorePmu, 3> kCorePmus = {
    {{"cpu_core", "P"}, {"cpu_atom", "E"}, {"cpu_lowpower", "LP-E"}}};

constexpr std::array<const char*, 3> kKinds = {"P", "E", "LP-E"};

// What to do where the kernel does not tell.
constexpr const char* kNameThem = "; --kinds, such as --kinds P=0-7,E=8-15, names them";

bool contains(const Cpus& cpus, int cpu) {
    return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

// The online CPUs that a PMU lists; none where it lists none or is not there.
Cpus listed_online(const KernelFiles& files, const std::string& pmu, const Cpus& online) {
    for (const char* const directory : {"/sys/devices/", "/sys/bus/event_source/devices/"}) {
        if (const auto listed = files.cpus(directory + pmu + "/cpus")) {
            Cpus found;
            std::set_intersection(listed->begin(), listed->end(), online.begin(), online.end(),
                                  std::back_inserter(found));
            return found;
        }
    }
    return {};
}

// "P=0-3,8,E=4-7" as {"P", "0-3,8"}, {"E", "4-7"}: a comma may stand in a list of CPUs, too.
std::vector<std::pair<std::string, std::string>> split_kinds(const std::string& text) {
    std::vector<std::pair<std::string, std::string>> parts;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t comma = std::min(text.find(',', start), text.size());
        const std::string piece = text.substr(start, comma - start);
        const std::size_t equals = piece.find('=');
        if (equals != std::string::npos) {
            parts.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
        } else if (parts.empty()) {
            throw std::invalid_argument("'" + text + "' does not start with a kind and '='");
        } else {
            parts.back().second += "," + piece;
        }
        start = comma + 1;
    }
    return parts;
}

}  // namespace

int kind_rank(const std::string& kind) {
    const auto* const place = std::find(kKinds.begin(), kKinds.end(), kind);
    return static_cast<int>(place - kKinds.begin());
}

CoreKinds kinds_of_pmus(const KernelFiles& files, const Cpus& online,
                        const std::set<int>& without_l3) {
    CoreKinds kinds;
    std::string lists;
    Cpus low_power;
    int lists_with_cpus = 0;
    for (const CorePmu& pmu : kCorePmus) {
        const Cpus cpus = listed_online(files, pmu.name, online);
        if (cpus.empty()) {
            continue;
        }
        ++lists_with_cpus;
        lists.append(lists.empty() ? "" : ", ")
            .append(pmu.name)
            .append(" ")
            .append(format_cpus(cpus));
        for (const int cpu : cpus) {
            const bool atom_without_l3 = std::string(pmu.kind) == "E" && without_l3.count(cpu) > 0;
            if (atom_without_l3) {
                low_power.push_back(cpu);
            }
            if (!kinds.of.emplace(cpu, atom_without_l3 ? "LP-E" : pmu.kind).second) {
                return {{},
                        "the kernel's core PMU lists overlap and are not used (" + lists + ")" +
                            kNameThem};
            }
        }
    }
    if (lists_with_cpus < 2) {
        return {{},
                std::string("nothing in the kernel's core PMU lists tells core kinds apart") +
                    kNameThem};
    }
    for (const int cpu : online) {
        if (kinds.of.count(cpu) == 0) {
            return {{},
                    "the kernel's core PMU lists leave out CPU " + std::to_string(cpu) +
                        " and are not used (" + lists + ")" + kNameThem};
        }
    }
    kinds.evidence = "the kernel's core PMU lists (" + lists + ")";
    if (!low_power.empty()) {
        kinds.evidence +=
            "; CPUs " + format_cpus(low_power) + " have no L3 cache, as others have: LP-E";
    }
    return kinds;
}

CoreKinds declared_kinds(const std::string& text, const Cpus& online) {
    CoreKinds kinds;
    std::set<std::string> seen;
    for (const auto& [kind, list] : split_kinds(text)) {
        if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
            throw std::invalid_argument("'" + kind + "' is no core kind; expected P, E or LP-E");
        }
        if (!seen.insert(kind).second) {
            throw std::invalid_argument(kind + " is named twice");
        }
        for (const int cpu : parse_cpus(list)) {
            if (!contains(online, cpu)) {
                throw std::invalid_argument("CPU " + std::to_string(cpu) +
                                            " is not online; name CPUs of " + format_cpus(online));
            }
            const auto [at, is_new] = kinds.of.emplace(cpu, kind);
            if (!is_new && at->second != kind) {
                throw std::invalid_argument("CPU " + std::to_string(cpu) + " is given to both " +
                                            at->second + " and " + kind);
            }
        }
    }
    kinds.evidence = "declared by --kinds " + text;
    return kinds;
}

}  // namespace pinstudy::threadmap
