// Formats: Linux Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpusets.rst and
// scheduler/sched-bwc.rst; /proc/self/cgroup as in cgroups(7).
#include "apps/threadmap/cgroup.hpp"

#include <sstream>
#include <vector>

namespace pinstudy::threadmap {
namespace {

constexpr const char* kMount = "/sys/fs/cgroup";

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

void take_least(Cgroup& cgroup, double quota, const std::string& file) {
    if (!cgroup.quota || quota < *cgroup.quota) {
        cgroup.quota = quota;
        cgroup.quota_file = file;
    }
}

void take_first(Cgroup& cgroup, const KernelFiles& files, const std::string& file) {
    if (cgroup.cpus.empty()) {
        if (const auto cpus = files.cpus(file); cpus && !cpus->empty()) {
            cgroup.cpus = format_cpus(*cpus);
            cgroup.cpus_file = file;
        }
    }
}

void read_version_2(Cgroup& cgroup, const KernelFiles& files, const std::string& path) {
    // Where version 1 has the controllers, version 2 is mounted beside it.
    for (const std::string& mount : {std::string(kMount), std::string(kMount) + "/unified"}) {
        for (const std::string& directory : upwards(mount, path)) {
            std::istringstream limit(files.text(directory + "/cpu.max").value_or(""));
            double quota = 0;  // microseconds in each period; the word max where there is none
            double period = 0;
            if (limit >> quota >> period && quota > 0 && period > 0) {
                take_least(cgroup, quota / period, directory + "/cpu.max");
            }
            take_first(cgroup, files, directory + "/cpuset.cpus.effective");
        }
    }
}

void read_quota_1(Cgroup& cgroup, const KernelFiles& files, const std::string& mount,
                  const std::string& path) {
    for (const std::string& directory : upwards(mount, path)) {
        const std::string file = directory + "/cpu.cfs_quota_us";
        const long long quota = files.number(file).value_or(-1);  // -1: none
        const long long period = files.number(directory + "/cpu.cfs_period_us").value_or(0);
        if (quota > 0 && period > 0) {
            take_least(cgroup, static_cast<double>(quota) / static_cast<double>(period), file);
        }
    }
}

void read_cpuset_1(Cgroup& cgroup, const KernelFiles& files, const std::string& path) {
    for (const std::string& directory : upwards(std::string(kMount) + "/cpuset", path)) {
        take_first(cgroup, files, directory + "/cpuset.effective_cpus");
        take_first(cgroup, files, directory + "/cpuset.cpus");
    }
}

bool has_word(const std::string& list, const std::string& word) {
    return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

}  // namespace

Cgroup read_cgroup(const KernelFiles& files) {
    Cgroup cgroup;
    std::istringstream lines(files.text("/proc/self/cgroup").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            continue;
        }
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (controllers.empty()) {
            read_version_2(cgroup, files, path);
        } else if (has_word(controllers, "cpuset")) {
            read_cpuset_1(cgroup, files, path);
        } else if (has_word(controllers, "cpu")) {
            // The directory has the controllers' name; that of one alone is a link to it.
            read_quota_1(cgroup, files, std::string(kMount) + "/cpu", path);
        }
    }
    return cgroup;
}

}  // namespace pinstudy::threadmap
