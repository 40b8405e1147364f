#include "apps/common/placement.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>

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
    const std::size_t cpus = std::max(pin_.size(), expect_.size());
    if (cpus == 0 || cpus == static_cast<std::size_t>(threads)) {
        return "";
    }
    return std::string(pin_.empty() ? "--expect" : "--pin") + ": expected a CPU for each of " +
           std::to_string(threads) + " threads, got " + std::to_string(cpus);
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

int run_placed(std::int64_t threads, const AssignedCpus& assigned,
               const std::function<Verdict(Team&)>& measure) {
    return Team::lead(static_cast<int>(threads), [&](Team& team) {
        // The first thread's answer that is not empty.
        const auto ask = [&](std::string (AssignedCpus::*question)(int) const) {
            std::vector<std::string> answers(static_cast<std::size_t>(threads));
            team.round([&](int thread) {
                answers[static_cast<std::size_t>(thread)] = (assigned.*question)(thread);
            });
            const auto first = std::find_if(answers.begin(), answers.end(),
                                            [](const auto& answer) { return !answer.empty(); });
            return first == answers.end() ? std::string() : *first;
        };
        if (const std::string reason = ask(&AssignedCpus::take); !reason.empty()) {
            throw std::runtime_error(reason);
        }
        if (const std::string reason = ask(&AssignedCpus::violation); !reason.empty()) {
            return report({false, reason});
        }
        const Verdict verdict = measure(team);
        const std::string violation = ask(&AssignedCpus::violation);
        return report(violation.empty() ? verdict : Verdict{false, violation});
    });
}

void SeenCpus::add(const std::vector<Turn>& turns) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
        for (const int cpu : {turns[i].first_cpu, turns[i].last_cpu}) {
            moves_ += last_[i] >= 0 && cpu != last_[i] ? 1 : 0;
            cpus_.insert(cpu);
            last_[i] = cpu;
        }
    }
}

std::string SeenCpus::lines() const {
    return "Seen on CPUs: " + format_cpus({cpus_.begin(), cpus_.end()}) +
           "\nSeen on another CPU than before: " + std::to_string(moves_) + " times\n";
}

std::string allowed_text(Team& team) {
    std::vector<Cpus> masks(static_cast<std::size_t>(team.threads()));
    team.round([&masks](int thread) {
        try {
            masks[static_cast<std::size_t>(thread)] = allowed_cpus();
        } catch (const std::system_error&) {
            // Nothing may be thrown here: no CPUs where the kernel does not say.
        }
    });
    std::string listed;
    std::set<int> all;
    for (const Cpus& mask : masks) {
        listed += (listed.empty() ? "" : ",") + format_cpus(mask);
        all.insert(mask.begin(), mask.end());
    }
    if (std::all_of(masks.begin(), masks.end(),
                    [](const Cpus& mask) { return mask.size() == 1; })) {
        return listed;
    }
    const bool alike = std::count(masks.begin(), masks.end(), masks.front()) == team.threads();
    return (alike ? "any of " : "within ") + format_cpus({all.begin(), all.end()});
}

}  // namespace pinstudy
