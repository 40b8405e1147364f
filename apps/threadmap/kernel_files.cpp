#include "apps/threadmap/kernel_files.hpp"

#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace pinstudy::threadmap {

std::optional<std::string> KernelFiles::text(const std::string& path) const {
    const std::ifstream file(root_ + path, std::ios::binary);
    if (!file) {
        return std::nullopt;
    }
    std::ostringstream read;
    read << file.rdbuf();
    const std::string content = read.str();
    constexpr const char* kBlanks = " \t\r\n";
    const auto first = content.find_first_not_of(kBlanks);
    if (first == std::string::npos) {
        return "";
    }
    return content.substr(first, content.find_last_not_of(kBlanks) - first + 1);
}

std::optional<long long> KernelFiles::number(const std::string& path) const {
    const std::string held = text(path).value_or("");
    const char* const end = held.data() + held.size();
    long long number = 0;
    const auto [stop, error] = std::from_chars(held.data(), end, number);
    return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::optional<Cpus> KernelFiles::cpus(const std::string& path) const {
    const std::optional<std::string> held = text(path);
    if (!held || held->empty()) {
        return held ? std::optional(Cpus{}) : std::nullopt;
    }
    try {
        const Cpus listed = parse_cpus(*held);
        const std::set<int> distinct(listed.begin(), listed.end());
        return Cpus(distinct.begin(), distinct.end());
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

}  // namespace pinstudy::threadmap
