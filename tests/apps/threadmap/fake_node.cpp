#include "tests/apps/threadmap/fake_node.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace pinstudy::testing {
FakeNode::FakeNode() {
    std::string name = (std::filesystem::temp_directory_path() / "fake-node-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("cannot make " + name);
    }
    root_ = name;
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

}  // namespace pinstudy::testing
