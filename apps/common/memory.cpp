#include "apps/common/memory.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <limits>

namespace pinstudy {

std::uint64_t physical_memory_bytes() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_size = sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || page_size <= 0) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_size);
}

std::string readable_bytes(double bytes) {
    constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    while (bytes >= 1024.0 && unit + 1 < kUnits.size()) {
        bytes /= 1024.0;
        ++unit;
    }
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.4g %s", bytes, kUnits[unit]);
    return text.data();
}

std::string why_too_large(const std::string& what, double bytes) {
    const auto available = static_cast<double>(physical_memory_bytes());
    if (bytes <= available) {
        return {};
    }
    return what + " needs " + readable_bytes(bytes) + " of memory, this node has " +
           readable_bytes(available);
}

}  // namespace pinstudy
