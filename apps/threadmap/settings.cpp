#include "apps/threadmap/settings.hpp"

#include <charconv>
#include <stdexcept>

namespace pinstudy::threadmap {
namespace {

constexpr std::int64_t kMostThreads = 65536;

double parse_seconds(const std::string& text) {
    constexpr double kShortest = 0.01;
    constexpr double kLongest = 3600;
    double seconds = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, seconds, std::chars_format::fixed);
    if (error != std::errc() || stop != end || !(seconds >= kShortest && seconds <= kLongest)) {
        throw std::invalid_argument("expected seconds from 0.01 to 3600, got '" + text + "'");
    }
    return seconds;
}

}  // namespace

void Settings::add_options(Options& options) {
    options.integer("--threads", threads, 0, kMostThreads,
                    "Threads of the team; 0 for as many as the environment says");
    options.text(
        "--duration", "SECONDS", [this](const std::string& text) { seconds = parse_seconds(text); },
        "How long the team is watched (default: 1)");
    options.flag("--team-only", team_only, "Form the team only, and start no thread on each CPU");
    assigned.add_options(options);
    options.flag("--json", json, "Print JSON instead of text");
    options.text(
        "--kinds", "KINDS", [this](const std::string& text) { kinds = text; },
        "Declare the core kinds, such as P=0-7,E=8-15, where the kernel does not tell them");
}

}  // namespace pinstudy::threadmap
