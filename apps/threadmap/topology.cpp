#include "apps/threadmap/topology.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "apps/threadmap/core_kinds.hpp"
#include "apps/threadmap/kernel_files.hpp"

namespace pinstudy::threadmap {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";

std::string directory_of(int cpu) {
    return std::string(kCpus) + "/cpu" + std::to_string(cpu);
}

Cpus common(const Cpus& left, const Cpus& right) {
    Cpus both;
    std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                          std::back_inserter(both));
    return both;
}

Cpus online_cpus(const KernelFiles& files) {
    const Cpus there = files.numbered(kCpus, "cpu");
    Cpus online = files.cpus(std::string(kCpus) + "/online").value_or(Cpus{});
    if (!there.empty()) {
        online = common(online, there);
    }
    if (online.empty()) {
        // A CPU that cannot be taken offline has no such file.
        std::copy_if(there.begin(), there.end(), std::back_inserter(online), [&files](int cpu) {
            return files.number(directory_of(cpu) + "/online") != 0;
        });
    }
    if (online.empty()) {
        throw std::runtime_error(std::string(kCpus) + " does not say which CPUs there are");
    }
    return online;
}

struct Cache {
    long long level = 0;
    Cpus cpus;  // those online that share it
};

// The caches of a CPU that hold data.
std::vector<Cache> data_caches(const KernelFiles& files, int cpu, const Cpus& online) {
    // Of index0 to index3, where a tree has no `level` files: data, instruction, second, third.
    constexpr int kFirstUnified = 2;
    std::vector<Cache> caches;
    const std::string directory = directory_of(cpu) + "/cache";
    for (const int index : files.numbered(directory, "index")) {
        const std::string path = directory + "/index" + std::to_string(index) + "/";
        const std::string type =
            files.text(path + "type").value_or(index == 1 ? "Instruction" : "");
        if (type == "Instruction") {
            continue;
        }
        const Cpus sharing = files.cpus(path + "shared_cpu_list").value_or(Cpus{cpu});
        caches.push_back({files.number(path + "level").value_or(index < kFirstUnified ? 1 : index),
                          std::find(sharing.begin(), sharing.end(), cpu) == sharing.end()
                              ? Cpus{cpu}
                              : common(sharing, online)});
    }
    return caches;
}

using CachesOfCpus = std::map<int, std::vector<Cache>>;

const Cache* cache_of(const CachesOfCpus& caches, int cpu, long long level) {
    for (const Cache& cache : caches.at(cpu)) {
        if (cache.level == level) {
            return &cache;
        }
    }
    return nullptr;
}

// CPUs that have caches but no L3, where others have one: the sign of Intel's LP-E cores, and the
// only one that all processors with such cores have.
std::set<int> without_l3(const CachesOfCpus& caches) {
    std::set<int> without;
    bool others_have = false;
    for (const auto& [cpu, of_cpu] : caches) {
        if (cache_of(caches, cpu, 3) != nullptr) {
            others_have = true;
        } else if (!of_cpu.empty()) {
            without.insert(cpu);
        }
    }
    return others_have ? without : std::set<int>{};
}

// The SMT siblings of a CPU, itself included: the kernel's list under its new or old name, else
// the CPUs that share its first-level data cache. A core_id would not do: on ARM it repeats.
Cpus siblings_of(const KernelFiles& files, int cpu, const CachesOfCpus& caches,
                 const Cpus& online) {
    for (const char* const name : {"core_cpus_list", "thread_siblings_list"}) {
        const auto listed = files.cpus(directory_of(cpu) + "/topology/" + name);
        if (listed && std::find(listed->begin(), listed->end(), cpu) != listed->end()) {
            return common(*listed, online);
        }
    }
    const Cache* const first_level = cache_of(caches, cpu, 1);
    return first_level != nullptr ? first_level->cpus : Cpus{cpu};
}

// The cores in the order of their first CPU. CPUs of one core that are of different kinds, which
// only declared kinds can say, are cores of their own.
std::vector<Core> read_cores(const KernelFiles& files, const CachesOfCpus& caches,
                             const CoreKinds& kinds, const Cpus& online) {
    std::map<std::pair<Cpus, std::string>, Core> found;
    for (const int cpu : online) {
        const auto named = kinds.of.find(cpu);
        const std::string kind = named == kinds.of.end() ? "" : named->second;
        Core& core = found[{siblings_of(files, cpu, caches, online), kind}];
        if (core.cpus.empty()) {
            // Kernels without topology information report package -1.
            const auto package = files.number(directory_of(cpu) + "/topology/physical_package_id");
            core.package = static_cast<int>(std::clamp(package.value_or(0), 0LL, 65535LL));
            core.kind = kind;
        }
        core.cpus.push_back(cpu);
    }
    std::vector<Core> cores;
    for (auto& [key, core] : found) {
        cores.push_back(std::move(core));
    }
    std::sort(cores.begin(), cores.end(),
              [](const Core& a, const Core& b) { return a.cpus < b.cpus; });
    return cores;
}

}  // namespace

const Core* Topology::core_of(int cpu) const {
    for (const Core& core : cores) {
        if (std::find(core.cpus.begin(), core.cpus.end(), cpu) != core.cpus.end()) {
            return &core;
        }
    }
    return nullptr;
}

Topology read_topology(const std::string& root, const std::string& kinds, const Cpus& allowed) {
    const KernelFiles files(root);
    const Cpus online = online_cpus(files);
    CachesOfCpus caches;
    for (const int cpu : online) {
        caches[cpu] = data_caches(files, cpu, online);
    }
    const CoreKinds told = kinds.empty() ? kinds_of_pmus(files, online, without_l3(caches))
                                         : declared_kinds(kinds, online);
    Topology topology;
    topology.kinds_evidence = told.evidence;
    topology.cores = read_cores(files, caches, told, online);
    Cpus wanted = allowed.empty() ? online : allowed;
    std::sort(wanted.begin(), wanted.end());
    topology.allowed = common(wanted, online);
    return topology;
}

}  // namespace pinstudy::threadmap
