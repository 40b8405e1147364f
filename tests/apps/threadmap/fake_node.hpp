// A node's /sys in a directory of its own, written by the test and removed with the object.
#pragma once

#include <filesystem>
#include <string>

namespace pinstudy::testing {

class FakeNode {
  public:
    // Lists the CPUs as online; without that, the files say nothing of which are.
    explicit FakeNode(const std::string& online);
    ~FakeNode();
    FakeNode(const FakeNode&) = delete;
    FakeNode& operator=(const FakeNode&) = delete;

    std::string root() const { return root_.string(); }

    // Writes a file; `path` starts below the root: "sys/devices/system/cpu/online".
    FakeNode& file(const std::string& path, const std::string& text);

    // A core of these CPUs, such as "0-1".
    FakeNode& core(const std::string& cpus, int package = 0);
    // Cores of one CPU each.
    FakeNode& single_cores(const std::string& cpus, int package = 0);
    // A cache that these CPUs share.
    FakeNode& cache(int level, const std::string& cpus);
    // A core PMU and the list of its CPUs.
    FakeNode& pmu(const std::string& name, const std::string& cpus);

  private:
    std::filesystem::path root_;
};

}  // namespace pinstudy::testing
