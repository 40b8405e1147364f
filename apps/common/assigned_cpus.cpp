#include "apps/common/assigned_cpus.hpp"

namespace pinstudy {

void AssignedCpus::add_options(Options& options) {
    options.text(
        "--pin", "CPUS", [this](const std::string& text) { pin_ = parse_cpus(text); },
        "Thread i pins itself to the i-th of these CPUs, such as 0,0,1,1");
    options.text(
        "--expect", "CPUS", [this](const std::string& text) { expect_ = parse_cpus(text); },
        "Thread i checks that it was pinned to the i-th of these CPUs");
}

std::string AssignedCpus::why_not(std::int64_t threads) const {
    if (!pin_.empty() && !expect_.empty()) {
        return "--pin, --expect: expected one of them, not both";
    }
    const bool pins = !pin_.empty();
    const Cpus& cpus = pins ? pin_ : expect_;
    if (cpus.empty() || cpus.size() == static_cast<std::size_t>(threads)) {
        return "";
    }
    return std::string(pins ? "--pin" : "--expect") + ": expected a CPU for each of " +
           std::to_string(threads) + " threads, got " + std::to_string(cpus.size());
}

std::string AssignedCpus::take(int thread) const {
    if (pin_.empty()) {
        return "";
    }
    const std::string reason = pin_this_thread(pin_[static_cast<std::size_t>(thread)]);
    return reason.empty() ? ""
                          : "thread " + std::to_string(thread) + " cannot be pinned: " + reason;
}

std::string AssignedCpus::violation(int thread) const {
    const Cpus& cpus = pin_.empty() ? expect_ : pin_;
    if (cpus.empty()) {
        return "";
    }
    const int cpu = cpus[static_cast<std::size_t>(thread)];
    const Cpus now = allowed_cpus();
    if (now == Cpus{cpu}) {
        return "";
    }
    return "thread " + std::to_string(thread) + " may run on CPU" + (now.size() == 1 ? " " : "s ") +
           format_cpus(now) + ", not only on CPU " + std::to_string(cpu);
}

}  // namespace pinstudy
