#include "apps/contention/report.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "apps/common/columns.hpp"

namespace pinstudy::contention {
namespace {

std::string work_of(const Settings& settings, Operation operation) {
    const std::string times = std::to_string(settings.times_of(operation));
    return name_of(operation) + ": " + times +
           (operation == Operation::integer ? " fetch-adds" : " loads, additions and stores") +
           " a thread and round";
}

std::string layout(const Settings& settings) {
    if (settings.same_line) {
        return "all in one cache line (false sharing)";
    }
    return std::to_string(settings.spacing) + " bytes apart" +
           (settings.spacing == kNeighbours ? " (neighbouring lines)" : "");
}

std::string lost_text(const Experiment& experiment) {
    return experiment.operation() == Operation::integer
               ? "-"
               : fixed(100.0 * experiment.check().lost_share(), 1) + " %";
}

// The median of the same operation as started; nothing when that was not measured.
const Timed* as_started(const Experiment& experiment, const Results& results) {
    const auto found = results.find(name_of(experiment.operation()) + "/" + kAsStarted);
    return found == results.end() ? nullptr : &found->second;
}

std::vector<std::string> row(const Experiment& experiment, const Timed& timed,
                             const Results& results, const Topology& topology,
                             const std::vector<Cpus>& masks) {
    std::vector<Cpus> pinned;
    for (const int cpu : experiment.cpus()) {
        pinned.push_back({cpu});
    }
    const Timed* const reference = as_started(experiment, results);
    return {name_of(experiment.operation()),
            experiment.placement(),
            cpus_text(pinned.empty() ? masks : pinned),
            kinds_text(topology, pinned.empty() ? seen_on(experiment.tracks()) : experiment.cpus()),
            fixed(timed.ms.median, 3),
            sd_text(timed.ms, 3),
            fixed(timed.quantities.at("ns_per_operation").median, 2),
            reference == nullptr ? "-" : fixed(timed.ms.median / reference->ms.median, 2),
            lost_text(experiment),
            std::to_string(moves_of(experiment.tracks()))};
}

}  // namespace

std::string introduction(const Settings& settings) {
    std::ostringstream text;
    text << "Contention: " << settings.threads
         << " threads, two a pair; each pair adds to one atomic\n"
         << "Atomics: " << settings.pairs() << ", " << layout(settings) << '\n';
    for (const Operation operation : settings.operations()) {
        text << "Operation: " << work_of(settings, operation) << '\n';
    }
    return text.str();
}

std::string values(const Experiment& experiment, const Timed& timed,
                   const std::vector<Cpus>& masks) {
    std::ostringstream text;
    text << "CPUs: " << cpus_text(masks) << '\n'
         << "Seen on CPUs: " << format_cpus(seen_on(experiment.tracks())) << '\n'
         << "Seen on another CPU than before: " << moves_of(experiment.tracks()) << " times\n"
         << "Rounds: " << timed.rounds << '\n'
         << "Round, median: " << fixed(timed.ms.median, 6) << " ms\n"
         << "Round, mean: " << fixed(timed.ms.mean, 6) << " ms\n";
    if (timed.ms.sd) {
        text << "Round, standard deviation: " << fixed(*timed.ms.sd, 6) << " ms\n";
    }
    text << "Operation, median: " << fixed(timed.quantities.at("ns_per_operation").median, 4)
         << " ns\n";
    if (experiment.operation() == Operation::real) {
        text << "Updates lost: " << lost_text(experiment) << '\n';
    }
    return text.str();
}

std::string table(const std::deque<Experiment>& experiments, const Results& results,
                  const NodePlacements& node, const std::vector<Cpus>& masks) {
    std::vector<std::vector<std::string>> rows{{"operation", "placement", "CPUs", "kinds", "ms",
                                                "+- sd", "ns/add", "ratio", "lost", "moves"}};
    for (const Experiment& experiment : experiments) {
        const auto found = results.find(experiment.name());
        if (found != results.end() && experiment.failure().empty()) {
            rows.push_back(row(experiment, found->second, results, node.topology, masks));
        }
    }
    return '\n' + in_columns(rows, 4) + '\n' + left_out_lines(experiments, node);
}

}  // namespace pinstudy::contention
