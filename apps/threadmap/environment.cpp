#include "apps/threadmap/environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace pinstudy::threadmap {
namespace {

constexpr std::array<std::string_view, 5> kPrefixes = {"OMP_", "KMP_", "GOMP_", "LIKWID_",
                                                       "SLURM_CPU"};

}  // namespace

std::string harmless(const std::string& text) {
    constexpr std::size_t kLongest = 300;
    std::string shown = text.substr(0, kLongest);
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return shown + (text.size() > kLongest ? "..." : "");
}

std::vector<std::pair<std::string, std::string>> placing_variables(const char* const* environment) {
    std::vector<std::pair<std::string, std::string>> variables;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry(*environment);
        const bool places = std::any_of(
            kPrefixes.begin(), kPrefixes.end(),
            [entry](std::string_view prefix) { return entry.substr(0, prefix.size()) == prefix; });
        const std::size_t equals = entry.find('=');
        if (places && equals != std::string_view::npos) {
            variables.emplace_back(harmless(std::string(entry.substr(0, equals))),
                                   harmless(std::string(entry.substr(equals + 1))));
        }
    }
    std::sort(variables.begin(), variables.end());
    return variables;
}

}  // namespace pinstudy::threadmap
