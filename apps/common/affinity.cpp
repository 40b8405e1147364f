#include "apps/common/affinity.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

namespace pinstudy {
namespace {

// Far beyond what Linux can be built for (CONFIG_NR_CPUS is 8192 at most in distributions).
constexpr int kMostCpus = 65536;

// The kernel's mask of CPUs, large enough for every CPU number that parse_cpus() accepts: the
// cpu_set_t of <sched.h> ends at 1024, and sched_getaffinity() refuses a mask smaller than its own.
class Mask {
  public:
    Mask() : set_(CPU_ALLOC(kMostCpus)) {
        if (!set_) {
            throw std::bad_alloc();
        }
        CPU_ZERO_S(bytes(), set_.get());
    }

    static std::size_t bytes() { return CPU_ALLOC_SIZE(kMostCpus); }
    cpu_set_t* get() { return set_.get(); }
    bool has(int cpu) const { return CPU_ISSET_S(static_cast<unsigned>(cpu), bytes(), set_.get()); }
    void add(int cpu) { CPU_SET_S(static_cast<unsigned>(cpu), bytes(), set_.get()); }

  private:
    struct Free {
        void operator()(cpu_set_t* set) const { CPU_FREE(set); }
    };
    std::unique_ptr<cpu_set_t, Free> set_;
};

[[noreturn]] void refuse(std::string_view text) {
    std::string message("'");
    message.append(text).append("' is no list of CPUs; expected one such as 0,2,4-6");
    throw std::invalid_argument(message);
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

std::string list_cpus(const Cpus& cpus) {
    std::string text;
    for (const int cpu : cpus) {
        text.append(text.empty() ? "" : ",").append(std::to_string(cpu));
    }
    return text;
}

Cpus allowed_cpus() {
    Mask mask;
    if (sched_getaffinity(0, Mask::bytes(), mask.get()) != 0) {
        throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
    }
    Cpus cpus;
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
        if (mask.has(cpu)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

void allow_this_thread(const Cpus& cpus) {
    allow_thread(0, cpus);
}

void allow_thread(int thread, const Cpus& cpus) {
    Mask mask;
    for (const int cpu : cpus) {
        mask.add(cpu);
    }
    if (sched_setaffinity(thread, Mask::bytes(), mask.get()) != 0) {
        throw std::system_error(errno, std::generic_category(), "CPUs " + format_cpus(cpus));
    }
}

std::string pin_this_thread(int cpu) {
    try {
        allow_this_thread({cpu});
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
