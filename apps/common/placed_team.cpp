#include "apps/common/placed_team.hpp"

#include <algorithm>
#include <system_error>

namespace pinstudy {
namespace {

Cpus all_of(const std::vector<Cpus>& of_threads) {
    std::set<int> cpus;
    for (const Cpus& of_thread : of_threads) {
        cpus.insert(of_thread.begin(), of_thread.end());
    }
    return {cpus.begin(), cpus.end()};
}

// allowed_cpus() where nothing may be thrown: no CPUs when the kernel does not say.
Cpus allowed_or_none() {
    try {
        return allowed_cpus();
    } catch (const std::system_error&) {
        return {};
    }
}

}  // namespace

void follow(std::vector<Track>& tracks, const std::vector<Turn>& turns) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
        Track& track = tracks[i];
        for (const int cpu : {turns[i].first_cpu, turns[i].last_cpu}) {
            track.moves += !track.cpus.empty() && cpu != track.last ? 1 : 0;
            track.cpus.insert(cpu);
            track.last = cpu;
        }
    }
}

int moves_of(const std::vector<Track>& tracks) {
    int moves = 0;
    for (const Track& track : tracks) {
        moves += track.moves;
    }
    return moves;
}

Cpus seen_on(const std::vector<Track>& tracks) {
    std::set<int> cpus;
    for (const Track& track : tracks) {
        cpus.insert(track.cpus.begin(), track.cpus.end());
    }
    return {cpus.begin(), cpus.end()};
}

std::vector<Cpus> PlacedTeam::masks() {
    std::vector<Cpus> masks(static_cast<std::size_t>(threads()));
    rounds_.round(
        [&masks](int thread) { masks[static_cast<std::size_t>(thread)] = allowed_or_none(); });
    return masks;
}

std::string PlacedTeam::take(const AssignedCpus& assigned) {
    return first_of_all([&assigned](int thread) { return assigned.take(thread); });
}

std::string PlacedTeam::violation(const AssignedCpus& assigned) {
    return first_of_all([&assigned](int thread) { return assigned.violation(thread); });
}

template <typename Ask>
std::string PlacedTeam::first_of_all(const Ask& ask) {
    std::vector<std::string> reasons(static_cast<std::size_t>(threads()));
    rounds_.round([&](int thread) { reasons[static_cast<std::size_t>(thread)] = ask(thread); });
    const auto first = std::find_if(reasons.begin(), reasons.end(),
                                    [](const std::string& reason) { return !reason.empty(); });
    return first == reasons.end() ? std::string() : *first;
}

std::string cpus_text(const std::vector<Cpus>& of_threads) {
    const bool each_has_one = std::all_of(of_threads.begin(), of_threads.end(),
                                          [](const Cpus& cpus) { return cpus.size() == 1; });
    if (!each_has_one) {
        const bool all_have_the_same =
            std::all_of(of_threads.begin(), of_threads.end(),
                        [&of_threads](const Cpus& cpus) { return cpus == of_threads.front(); });
        return (all_have_the_same ? "any of " : "within ") + format_cpus(all_of(of_threads));
    }
    Cpus one_each;
    for (const Cpus& cpus : of_threads) {
        one_each.push_back(cpus.front());
    }
    return list_cpus(one_each);
}

}  // namespace pinstudy
