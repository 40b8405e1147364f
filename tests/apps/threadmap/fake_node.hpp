// A node's files in a directory of its own, written by the test and removed with the object.
#pragma once

#include <filesystem>
#include <string>

namespace pinstudy::testing {

class FakeNode {
  public:
    FakeNode();
    ~FakeNode();
    FakeNode(const FakeNode&) = delete;
    FakeNode& operator=(const FakeNode&) = delete;

    std::string root() const { return root_.string(); }

    // Writes a file; `path` starts below the root: "proc/self/cgroup".
    FakeNode& file(const std::string& path, const std::string& text);

  private:
    std::filesystem::path root_;
};

}  // namespace pinstudy::testing
