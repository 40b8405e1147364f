#include "apps/threadmap/kernel_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace pinstudy::threadmap {
namespace {

// A list of every second CPU of the largest node has some 40 KB; what is larger is no such file.
constexpr std::size_t kLargest = 65536;

template <typename Number>
std::optional<Number> decimal(const std::string& text) {
    Number number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return number;
}

}  // namespace

KernelFiles::KernelFiles(std::string root) : root_(std::move(root)) {
    while (!root_.empty() && root_.back() == '/') {
        root_.pop_back();
    }
}

std::optional<std::string> KernelFiles::text(const std::string& path) const {
    std::error_code no_matter;
    if (!std::filesystem::is_regular_file(root_ + path, no_matter)) {
        return std::nullopt;
    }
    std::ifstream file(root_ + path, std::ios::binary);
    std::string content(kLargest + 1, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(file.gcount()));
    if (file.bad() || (!file.eof() && file.fail()) || content.size() > kLargest) {
        return std::nullopt;
    }
    constexpr const char* kBlanks = " \t\r\n";
    const auto first = content.find_first_not_of(kBlanks);
    if (first == std::string::npos) {
        return std::string();
    }
    return content.substr(first, content.find_last_not_of(kBlanks) - first + 1);
}

std::optional<long long> KernelFiles::number(const std::string& path) const {
    const std::optional<std::string> held = text(path);
    return held ? decimal<long long>(*held) : std::nullopt;
}

std::optional<Cpus> KernelFiles::cpus(const std::string& path) const {
    const std::optional<std::string> held = text(path);
    if (!held || held->empty()) {
        return held ? std::optional<Cpus>(Cpus{}) : std::nullopt;
    }
    try {
        Cpus listed = parse_cpus(*held);
        std::sort(listed.begin(), listed.end());
        listed.erase(std::unique(listed.begin(), listed.end()), listed.end());
        return listed;
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

std::vector<int> KernelFiles::numbered(const std::string& directory,
                                       const std::string& prefix) const {
    std::vector<int> numbers;
    std::error_code error;
    std::filesystem::directory_iterator entry(root_ + directory, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.compare(0, prefix.size(), prefix) != 0) {
            continue;
        }
        const std::optional<int> number = decimal<int>(name.substr(prefix.size()));
        if (number && *number >= 0) {
            numbers.push_back(*number);
        }
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

}  // namespace pinstudy::threadmap
