#include "apps/smt/report.hpp"

#include <sstream>

#include "apps/common/columns.hpp"
#include "apps/common/memory.hpp"
#include "apps/smt/plan.hpp"

namespace pinstudy::smt {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// How much longer a thread took than alone on the same CPU; as started, than as started.
std::string slowdown(const Experiment& experiment, std::size_t thread, const Spread& ms,
                     const Results& results) {
    const int cpu = experiment.cpus().empty() ? -1 : experiment.cpus()[thread];
    const auto alone = results.find(name_alone(*experiment.works()[thread], cpu));
    return alone == results.end() ? "-" : fixed(ms.median / alone->second.ms.median, 2);
}

void add_rows(Rows& rows, const Experiment& experiment, const Timed& timed, const Results& results,
              const NodePlacements& node, std::int64_t items, const std::vector<Cpus>& masks) {
    const std::string& name = experiment.name();
    const std::string word = name.substr(0, name.find('/'));
    const bool alone = name.find("/alone/") != std::string::npos;
    for (std::size_t i = 0; i < experiment.works().size(); ++i) {
        if (!experiment.works()[i]) {
            continue;
        }
        const Cpus& seen{experiment.tracks()[i].cpus.begin(), experiment.tracks()[i].cpus.end()};
        const Spread& ms = timed.quantities.at(quantity_of(i));
        rows.push_back({word == "mixed" ? "mixed: " + name_of(*experiment.works()[i]) : word,
                        alone ? "alone" : name.substr(name.find('/') + 1),
                        experiment.cpus().empty() ? cpus_text({masks[i]})
                                                  : std::to_string(experiment.cpus()[i]),
                        kinds_text(node.topology, seen), fixed(ms.median, 1), sd_text(ms, 1),
                        fixed(static_cast<double>(items) / ms.median / 1e3, 1),
                        alone ? "" : slowdown(experiment, i, ms, results)});
    }
}

}  // namespace

std::string introduction(const Settings& settings) {
    std::ostringstream text;
    text << "SMT: " << settings.threads << (settings.threads == 1 ? " thread" : " threads")
         << ", each with " << settings.items << " floats of its own ("
         << readable_bytes(static_cast<double>(settings.items) * sizeof(float)) << ")\n"
         << "Work: " << settings.work << '\n';
    return text.str();
}

std::string values(const Experiment& experiment, const Timed& timed,
                   const std::vector<Cpus>& masks) {
    std::ostringstream text;
    text << "CPUs: " << cpus_text(masks) << '\n'
         << "Seen on CPUs: " << format_cpus(seen_on(experiment.tracks())) << '\n'
         << "Seen on another CPU than before: " << moves_of(experiment.tracks()) << " times\n"
         << "Rounds: " << timed.rounds << '\n'
         << "Thread, median: " << fixed(timed.quantities.at("thread_ms").median, 6) << " ms\n"
         << "Slowest thread, median: " << fixed(timed.ms.median, 6) << " ms\n";
    if (timed.ms.sd) {
        text << "Slowest thread, standard deviation: " << fixed(*timed.ms.sd, 6) << " ms\n";
    }
    text << "Items, median: " << fixed(timed.quantities.at("items_per_s").median, 0)
         << " a thread and second\n";
    return text.str();
}

std::string table(const std::deque<Experiment>& experiments, const Results& results,
                  const NodePlacements& node, std::int64_t items, const std::vector<Cpus>& masks) {
    Rows rows{{"work", "placement", "CPU", "kind", "ms", "+- sd", "M items/s", "slowdown"}};
    for (const char* const word : {"accumulate", "sin", "mixed"}) {
        for (const Experiment& experiment : experiments) {
            const auto found = results.find(experiment.name());
            if (found != results.end() && experiment.failure().empty() &&
                experiment.name().starts_with(std::string(word) + "/")) {
                add_rows(rows, experiment, found->second, results, node, items, masks);
            }
        }
    }
    return '\n' + in_columns(rows, 4) + '\n' + left_out_lines(experiments, node);
}

}  // namespace pinstudy::smt
