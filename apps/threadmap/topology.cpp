#include "apps/threadmap/topology.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace pinstudy::threadmap {
namespace {

constexpr std::array<const char*, 3> kKinds = {"P", "E", "LP-E"};

// Linux arch/x86/events/intel/core.c: the core PMU of each kind. cpu_lowpower is there on Arrow
// Lake-H only; other processors keep LP-E cores in cpu_atom.
constexpr std::array<const char*, 3> kCorePmus = {"cpu_core", "cpu_atom", "cpu_lowpower"};

// The kind (P, E or LP-E) of each CPU that has one, and the evidence in words.
struct CoreKinds {
    std::map<int, std::string> of;
    std::string evidence;
};

Cpus common(const Cpus& left, const Cpus& right) {
    Cpus both;
    std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                          std::back_inserter(both));
    return both;
}

bool contains(const Cpus& cpus, int cpu) {
    return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

std::string directory_of(int cpu) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

// CPUs that have caches but no L3, where others have one: the sign of Intel's LP-E cores, and the
// only one that all processors with such cores have.
Cpus without_l3(const KernelFiles& files, const Cpus& online) {
    constexpr int kMostCaches = 10;
    Cpus without;
    bool others_have = false;
    for (const int cpu : online) {
        std::set<long long> levels;
        for (int index = 0; index < kMostCaches; ++index) {
            const std::string cache = directory_of(cpu) + "/cache/index" + std::to_string(index);
            if (const auto level = files.number(cache + "/level")) {
                levels.insert(*level);
            }
        }
        others_have = others_have || levels.contains(3);
        if (!levels.empty() && !levels.contains(3)) {
            without.push_back(cpu);
        }
    }
    return others_have ? without : Cpus{};
}

// The online CPUs that a PMU lists; none where it lists none or is not there.
Cpus listed_online(const KernelFiles& files, const std::string& pmu, const Cpus& online) {
    for (const char* const directory : {"/sys/devices/", "/sys/bus/event_source/devices/"}) {
        if (const auto listed = files.cpus(directory + pmu + "/cpus")) {
            return common(*listed, online);
        }
    }
    return {};
}

// Evidence that does not serve, and what to do.
CoreKinds untold(const std::string& why) {
    return {{}, why + "; --kinds, such as --kinds P=0-7,E=8-15, names them"};
}

CoreKinds kinds_of_pmus(const KernelFiles& files, const Cpus& online) {
    CoreKinds kinds;
    std::string lists;
    std::size_t listed = 0;
    std::set<std::string> pmus;
    for (std::size_t i = 0; i < kCorePmus.size(); ++i) {
        const Cpus cpus = listed_online(files, kCorePmus[i], online);
        if (cpus.empty()) {
            continue;
        }
        pmus.insert(kCorePmus[i]);
        lists += (lists.empty() ? "" : ", ") + std::string(kCorePmus[i]) + " " + format_cpus(cpus);
        listed += cpus.size();
        for (const int cpu : cpus) {
            kinds.of[cpu] = kKinds[i];
        }
    }
    if (pmus.size() < 2) {
        return untold("nothing in the kernel's core PMU lists tells core kinds apart");
    }
    if (listed != kinds.of.size()) {
        return untold("the kernel's core PMU lists overlap and are not used (" + lists + ")");
    }
    for (const int cpu : online) {
        if (!kinds.of.contains(cpu)) {
            return untold("the kernel's core PMU lists leave out CPU " + std::to_string(cpu) +
                          " and are not used (" + lists + ")");
        }
    }
    Cpus low_power;
    for (const int cpu : without_l3(files, online)) {
        if (kinds.of[cpu] == "E") {
            kinds.of[cpu] = "LP-E";
            low_power.push_back(cpu);
        }
    }
    kinds.evidence = "the kernel's core PMU lists (" + lists + ")";
    if (!low_power.empty()) {
        kinds.evidence +=
            "; CPUs " + format_cpus(low_power) + " have no L3 cache, as others have: LP-E";
    }
    return kinds;
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

// The SMT siblings of a CPU, itself included: the kernel's list under its new or old name. A
// core_id would not do: on ARM it repeats.
Cpus siblings_of(const KernelFiles& files, int cpu, const Cpus& online) {
    for (const char* const name : {"core_cpus_list", "thread_siblings_list"}) {
        const auto listed = files.cpus(directory_of(cpu) + "/topology/" + name);
        if (listed && contains(*listed, cpu)) {
            return common(*listed, online);
        }
    }
    return {cpu};
}

}  // namespace

const Core* Topology::core_of(int cpu) const {
    const auto core = std::find_if(cores.begin(), cores.end(),
                                   [cpu](const Core& each) { return contains(each.cpus, cpu); });
    return core == cores.end() ? nullptr : &*core;
}

int kind_rank(const std::string& kind) {
    return static_cast<int>(std::find(kKinds.begin(), kKinds.end(), kind) - kKinds.begin());
}

Topology read_topology(const KernelFiles& files, const std::string& kinds, const Cpus& allowed) {
    const std::string list = "/sys/devices/system/cpu/online";
    const Cpus online = files.cpus(list).value_or(Cpus{});
    if (online.empty()) {
        throw std::runtime_error(list + " does not say which CPUs there are");
    }
    CoreKinds told = kinds.empty() ? kinds_of_pmus(files, online) : declared_kinds(kinds, online);
    // CPUs of one core that are of different kinds, which only declared kinds can say, are cores of
    // their own.
    std::map<std::pair<Cpus, std::string>, Core> cores;
    for (const int cpu : online) {
        const std::string kind = told.of[cpu];
        Core& core = cores[{siblings_of(files, cpu, online), kind}];
        // Kernels without topology information report package -1.
        const auto package = files.number(directory_of(cpu) + "/topology/physical_package_id");
        core.package = static_cast<int>(std::clamp(package.value_or(0), 0LL, 65535LL));
        core.kind = kind;
        core.cpus.push_back(cpu);
    }
    Topology topology{{}, common(allowed, online), told.evidence};
    for (auto& [key, core] : cores) {
        topology.cores.push_back(std::move(core));
    }
    std::sort(topology.cores.begin(), topology.cores.end(),
              [](const Core& a, const Core& b) { return a.cpus < b.cpus; });
    return topology;
}

}  // namespace pinstudy::threadmap
