#include "apps/smt/plan.hpp"

#include <set>

namespace pinstudy::smt {
namespace {

// The works that are done alone, for comparison with what the words ask for.
std::vector<Work> works_alone(const std::vector<std::string>& words) {
    std::set<Work> works;
    for (const std::string& word : words) {
        for (const auto& work : works_of(word, 2)) {
            works.insert(*work);
        }
    }
    return {works.begin(), works.end()};
}

void add_alone(std::vector<Planned>& planned, const std::vector<Work>& works, std::size_t threads,
               int cpu) {
    for (const Work work : works) {
        Works of_threads(threads);
        of_threads[0] = work;
        planned.push_back(
            {name_alone(work, cpu), cpu < 0 ? Cpus{} : Cpus(threads, cpu), of_threads});
    }
}

}  // namespace

Works works_of(const std::string& word, std::int64_t threads) {
    Works works;
    for (std::int64_t i = 0; i < threads; ++i) {
        const bool sin = word == "sin" || (word == "mixed" && i % 2 == 1);
        works.emplace_back(sin ? Work::sin : Work::accumulate);
    }
    return works;
}

std::vector<std::string> words_of(const Settings& settings) {
    if (settings.work == "all") {
        return {"accumulate", "sin", "mixed"};
    }
    return {settings.work};
}

std::string name_alone(Work work, int cpu) {
    return name_of(work) + "/alone/" + (cpu < 0 ? kAsStarted : "cpu-" + std::to_string(cpu));
}

std::vector<Planned> plan(const Settings& settings, const NodePlacements& node) {
    const std::vector<std::string> words = words_of(settings);
    const std::vector<Work> alone = works_alone(words);
    const auto threads = static_cast<std::size_t>(settings.threads);
    std::vector<Planned> planned;
    std::set<int> cpus;
    for (const Placement& placement : node.possible) {
        if (placement.cpus.empty()) {
            add_alone(planned, alone, threads, -1);
        }
        cpus.insert(placement.cpus.begin(), placement.cpus.end());
    }
    for (const int cpu : cpus) {
        add_alone(planned, alone, threads, cpu);
    }
    for (const Placement& placement : node.possible) {
        for (const std::string& word : words) {
            planned.push_back(
                {word + "/" + placement.name, placement.cpus, works_of(word, settings.threads)});
        }
    }
    return planned;
}

}  // namespace pinstudy::smt
