#include "apps/contention/report.hpp"

#include <sstream>

#include "apps/common/columns.hpp"

namespace pinstudy::contention {
namespace {

std::string work_of(const Settings& settings) {
    return name_of(settings.operation()) + ": " + std::to_string(settings.additions()) +
           (settings.operation() == Operation::integer ? " fetch-adds"
                                                       : " loads, additions and stores") +
           " a thread and round";
}

std::string layout(const Settings& settings) {
    if (settings.same_line) {
        return "all in one cache line (false sharing)";
    }
    return std::to_string(settings.spacing) + " bytes apart" +
           (settings.spacing == kNeighbours ? " (neighbouring lines)" : "");
}

}  // namespace

std::string introduction(const Settings& settings) {
    std::ostringstream text;
    text << "Contention: " << settings.threads
         << " threads, two a pair; each pair adds to one atomic\n"
         << "Atomics: " << settings.pairs() << ", " << layout(settings) << '\n'
         << "Operation: " << work_of(settings) << '\n';
    return text.str();
}

std::string values(const Settings& settings, const Experiment& experiment, const Samples& ms,
                   const std::vector<Cpus>& masks) {
    const Spread round = spread_of(ms);
    const auto additions = static_cast<double>(settings.additions() * settings.threads);
    std::ostringstream text;
    text << "CPUs: " << cpus_text(masks) << '\n'
         << "Seen on CPUs: " << format_cpus(seen_on(experiment.tracks())) << '\n'
         << "Seen on another CPU than before: " << moves_of(experiment.tracks()) << " times\n"
         << "Rounds: " << ms.size() << '\n'
         << "Round, median: " << fixed(round.median, 6) << " ms\n"
         << "Round, mean: " << fixed(round.mean, 6) << " ms\n";
    if (round.sd) {
        text << "Round, standard deviation: " << fixed(*round.sd, 6) << " ms\n";
    }
    text << "Operation, median: " << fixed(1e6 * round.median / additions, 4) << " ns\n";
    if (settings.operation() == Operation::real) {
        text << "Updates lost: " << fixed(100.0 * experiment.check().lost_share(), 1) << " %\n";
    }
    return text.str();
}

}  // namespace pinstudy::contention
