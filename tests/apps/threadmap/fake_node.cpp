#include "tests/apps/threadmap/fake_node.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "apps/common/affinity.hpp"

namespace pinstudy::testing {
namespace {

const std::string kCpu = "sys/devices/system/cpu/cpu";

}  // namespace

FakeNode::FakeNode(const std::string& online) {
    std::string name = (std::filesystem::temp_directory_path() / "fake-node-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("cannot make " + name);
    }
    root_ = name;
    file("sys/devices/system/cpu/online", online);
}

FakeNode::~FakeNode() {
    std::error_code left_behind;
    std::filesystem::remove_all(root_, left_behind);
}

FakeNode& FakeNode::file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
    return *this;
}

FakeNode& FakeNode::core(const std::string& cpus, int package) {
    for (const int cpu : parse_cpus(cpus)) {
        const std::string directory = kCpu + std::to_string(cpu) + "/topology/";
        file(directory + "core_cpus_list", cpus);
        file(directory + "physical_package_id", std::to_string(package));
    }
    return *this;
}

FakeNode& FakeNode::single_cores(const std::string& cpus, int package) {
    for (const int cpu : parse_cpus(cpus)) {
        core(std::to_string(cpu), package);
    }
    return *this;
}

FakeNode& FakeNode::cache(int level, const std::string& cpus) {
    for (const int cpu : parse_cpus(cpus)) {
        const std::string directory =
            kCpu + std::to_string(cpu) + "/cache/index" + std::to_string(level) + "/";
        file(directory + "level", std::to_string(level));
        file(directory + "type", level == 1 ? "Data" : "Unified");
        file(directory + "shared_cpu_list", cpus);
    }
    return *this;
}

FakeNode& FakeNode::pmu(const std::string& name, const std::string& cpus) {
    return file("sys/bus/event_source/devices/" + name + "/cpus", cpus);
}

}  // namespace pinstudy::testing
