#include "apps/common/affinity.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace pinstudy {
namespace {

// Far beyond what Linux can be built for (CONFIG_NR_CPUS is 8192 at most in distributions).
constexpr int kMostCpus = 65536;

// Large enough for every CPU number that parse_cpus() accepts: one cpu_set_t ends at 1024, and
// sched_getaffinity() refuses a mask smaller than the kernel's own.
using Mask = std::array<cpu_set_t, kMostCpus / CPU_SETSIZE>;

[[noreturn]] void refuse(std::string_view text) {
    throw std::invalid_argument("'" + std::string(text) +
                                "' is no list of CPUs; expected one such as 0,2,4-6");
}

int parse_number(std::string_view digits, std::string_view whole) {
    int number = -1;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
    if (error != std::errc() || end != digits.end() || number < 0 || number >= kMostCpus) {
        refuse(whole);
    }
    return number;
}

}  // namespace

Cpus parse_cpus(std::string_view text) {
    Cpus cpus;
    std::string_view rest = text;
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::string_view item = rest.substr(0, comma);
        const std::size_t dash = item.find('-');
        const int first = parse_number(item.substr(0, dash), text);
        const int last =
            dash == std::string_view::npos ? first : parse_number(item.substr(dash + 1), text);
        if (last < first) {
            refuse(text);
        }
        for (int cpu = first; cpu <= last; ++cpu) {
            cpus.push_back(cpu);
        }
        if (comma == std::string_view::npos) {
            return cpus;
        }
        rest.remove_prefix(comma + 1);
    }
}

std::string format_cpus(const Cpus& cpus) {
    std::string text;
    for (std::size_t i = 0; i < cpus.size();) {
        std::size_t end = i + 1;
        while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) {
            ++end;
        }
        text.append(text.empty() ? "" : ",").append(std::to_string(cpus[i]));
        if (end - i > 1) {
            text.append("-").append(std::to_string(cpus[end - 1]));
        }
        i = end;
    }
    return text;
}

Cpus allowed_cpus() {
    Mask mask{};
    if (sched_getaffinity(0, sizeof mask, mask.data()) != 0) {
        throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
    }
    Cpus cpus;
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
        if (CPU_ISSET_S(static_cast<unsigned>(cpu), sizeof mask, mask.data())) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

void allow_thread(int thread, const Cpus& cpus) {
    Mask mask{};
    for (const int cpu : cpus) {
        CPU_SET_S(static_cast<unsigned>(cpu), sizeof mask, mask.data());
    }
    if (sched_setaffinity(thread, sizeof mask, mask.data()) != 0) {
        throw std::system_error(errno, std::generic_category(), "CPUs " + format_cpus(cpus));
    }
}

std::string pin_this_thread(int cpu) {
    try {
        allow_thread(0, {cpu});
        const Cpus now = allowed_cpus();
        return now == Cpus{cpu} ? "" : "the kernel allows CPUs " + format_cpus(now) + " instead";
    } catch (const std::system_error& error) {
        return error.what();
    }
}

int current_cpu() {
    return sched_getcpu();
}

}  // namespace pinstudy
