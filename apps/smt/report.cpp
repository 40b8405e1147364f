#include "apps/smt/report.hpp"

#include <algorithm>
#include <sstream>

#include "apps/common/columns.hpp"
#include "apps/common/memory.hpp"

namespace pinstudy::smt {

void Measured::add(const std::vector<double>& ms, std::int64_t items) {
    thread_ms.push_back(mean(ms));
    slowest_ms.push_back(*std::max_element(ms.begin(), ms.end()));
    items_per_s.push_back(1e3 * static_cast<double>(items) / thread_ms.back());
}

std::string introduction(const Settings& settings) {
    std::ostringstream text;
    text << "SMT: " << settings.threads << (settings.threads == 1 ? " thread" : " threads")
         << ", each with " << settings.items << " floats of its own ("
         << readable_bytes(static_cast<double>(settings.items) * sizeof(float)) << ")\n"
         << "Work: " << settings.work << '\n';
    return text.str();
}

std::string values(const Measured& measured, const std::vector<Track>& tracks,
                   const std::vector<Cpus>& masks) {
    const Spread slowest = spread_of(measured.slowest_ms);
    std::ostringstream text;
    text << "CPUs: " << cpus_text(masks) << '\n'
         << "Seen on CPUs: " << format_cpus(seen_on(tracks)) << '\n'
         << "Seen on another CPU than before: " << moves_of(tracks) << " times\n"
         << "Rounds: " << measured.slowest_ms.size() << '\n'
         << "Thread, median: " << fixed(median(measured.thread_ms), 6) << " ms\n"
         << "Slowest thread, median: " << fixed(slowest.median, 6) << " ms\n";
    if (slowest.sd) {
        text << "Slowest thread, standard deviation: " << fixed(*slowest.sd, 6) << " ms\n";
    }
    text << "Items, median: " << fixed(median(measured.items_per_s), 0) << " a thread and second\n";
    return text.str();
}

}  // namespace pinstudy::smt
