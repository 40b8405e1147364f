// Formats: Linux Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpusets.rst and
// scheduler/sched-bwc.rst; /proc/self/cgroup as in cgroups(7).
#include "apps/threadmap/surroundings.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace pinstudy::threadmap {
namespace {

const std::string kMount = "/sys/fs/cgroup";

// The directories of a group and of all above it, the group's own first. A container that sees its
// group as the root still has the limits in the mount's root.
std::vector<std::string> upwards(const std::string& mount, std::string path) {
    std::vector<std::string> directories;
    while (path.size() > 1 && path.front() == '/') {
        directories.push_back(mount + path);
        path.resize(path.find_last_of('/'));
    }
    directories.push_back(mount);
    return directories;
}

// Both numbers are microseconds; there is no quota where they are not positive.
void take_least(Cgroup& cgroup, double quota, double period, const std::string& file) {
    if (quota > 0 && period > 0 && (!cgroup.quota || quota / period < *cgroup.quota)) {
        cgroup.quota = quota / period;
        cgroup.quota_file = file;
    }
}

void take_first(Cgroup& cgroup, const KernelFiles& files, const std::string& file) {
    const Cpus cpus = files.cpus(file).value_or(Cpus{});
    if (cgroup.cpus.empty() && !cpus.empty()) {
        cgroup.cpus = format_cpus(cpus);
        cgroup.cpus_file = file;
    }
}

void read_version_2(Cgroup& cgroup, const KernelFiles& files, const std::string& path) {
    // Where version 1 has the controllers, version 2 is mounted beside it.
    for (const std::string& mount : {kMount, kMount + "/unified"}) {
        for (const std::string& directory : upwards(mount, path)) {
            const std::string file = directory + "/cpu.max";
            std::istringstream limit(files.text(file).value_or(""));
            double quota = 0;  // the word max where there is none
            double period = 0;
            limit >> quota >> period;
            take_least(cgroup, quota, period, file);
            take_first(cgroup, files, directory + "/cpuset.cpus.effective");
        }
    }
}

void read_quota_1(Cgroup& cgroup, const KernelFiles& files, const std::string& path) {
    // The directory has the controllers' name; that of one alone is a link to it.
    for (const std::string& directory : upwards(kMount + "/cpu", path)) {
        const std::string file = directory + "/cpu.cfs_quota_us";
        const long long quota = files.number(file).value_or(-1);  // -1: none
        const long long period = files.number(directory + "/cpu.cfs_period_us").value_or(0);
        take_least(cgroup, static_cast<double>(quota), static_cast<double>(period), file);
    }
}

void read_cpuset_1(Cgroup& cgroup, const KernelFiles& files, const std::string& path) {
    for (const std::string& directory : upwards(kMount + "/cpuset", path)) {
        take_first(cgroup, files, directory + "/cpuset.effective_cpus");
        take_first(cgroup, files, directory + "/cpuset.cpus");
    }
}

bool has_word(const std::string& list, const std::string& word) {
    return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

std::string harmless(std::string_view text) {
    constexpr std::size_t kLongest = 300;
    std::string shown(text.substr(0, kLongest));
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return shown + (text.size() > kLongest ? "..." : "");
}

}  // namespace

Cgroup read_cgroup(const KernelFiles& files) {
    Cgroup cgroup;
    std::istringstream lines(files.text("/proc/self/cgroup").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string number, controllers, path;
        std::getline(fields, number, ':');
        std::getline(fields, controllers, ':');
        if (!std::getline(fields, path)) {
            continue;
        }
        if (controllers.empty()) {
            read_version_2(cgroup, files, path);
        } else if (has_word(controllers, "cpuset")) {
            read_cpuset_1(cgroup, files, path);
        } else if (has_word(controllers, "cpu")) {
            read_quota_1(cgroup, files, path);
        }
    }
    return cgroup;
}

std::vector<std::pair<std::string, std::string>> placing_variables(const char* const* environment) {
    constexpr std::array kPrefixes = {"OMP_", "KMP_", "GOMP_", "LIKWID_", "SLURM_CPU"};
    std::vector<std::pair<std::string, std::string>> variables;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry(*environment);
        const bool places =
            std::any_of(kPrefixes.begin(), kPrefixes.end(),
                        [entry](const char* prefix) { return entry.starts_with(prefix); });
        const std::size_t equals = entry.find('=');
        if (places && equals != std::string_view::npos) {
            variables.emplace_back(harmless(entry.substr(0, equals)),
                                   harmless(entry.substr(equals + 1)));
        }
    }
    std::sort(variables.begin(), variables.end());
    return variables;
}

}  // namespace pinstudy::threadmap
