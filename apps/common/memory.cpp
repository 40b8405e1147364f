#include "apps/common/memory.hpp"

#include <unistd.h>

#include <array>

#include "apps/common/program.hpp"

namespace pinstudy {

std::string readable_bytes(double bytes) {
    constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    while (bytes >= 1024.0 && unit + 1 < kUnits.size()) {
        bytes /= 1024.0;
        ++unit;
    }
    return printed("%.4g %s", bytes, kUnits[unit]);
}

std::string why_too_large(const std::string& what, double bytes) {
    const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
    const double available = pages * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    if (available <= 0 || bytes <= available) {
        return {};
    }
    return what + " needs " + readable_bytes(bytes) + " of memory, this node has " +
           readable_bytes(available);
}

}  // namespace pinstudy
