#include "apps/smt/experiment.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace pinstudy::smt {
namespace {

// Small enough that a thread which goes on until all have been timed ends soon after.
constexpr std::size_t kPortion = 16384;

}  // namespace

Workshop::Workshop(PlacedTeam& team, std::int64_t items)
    : team_(team), count_(items), benches_(static_cast<std::size_t>(team.threads())) {}

std::string Workshop::furnish(const Cpus& cpus, const Works& works) {
    const bool moves = furnished_ != cpus;
    if (std::string reason = team_.put(cpus); !reason.empty()) {
        return reason;
    }
    furnished_ = cpus;
    std::atomic<bool> full{false};
    team_.round([&](int thread) {
        const auto i = static_cast<std::size_t>(thread);
        if (moves) {
            benches_[i].items.reset();
        }
        if (works[i] && !benches_[i].items) {
            try {
                benches_[i].items = std::make_unique<Items>(static_cast<std::size_t>(count_));
            } catch (const std::bad_alloc&) {
                full = true;
            }
        }
    });
    return full ? "not enough memory for the arrays" : "";
}

std::vector<double> Workshop::round(const Works& works, std::vector<Track>& tracks) {
    untimed_ = static_cast<int>(std::count_if(works.begin(), works.end(),
                                              [](const auto& work) { return work.has_value(); }));
    follow(tracks, team_.round([&](int thread) {
        const auto i = static_cast<std::size_t>(thread);
        if (works[i]) {
            work_through(benches_[i], *works[i]);
        }
    }));
    std::vector<double> seconds;
    for (std::size_t i = 0; i < works.size(); ++i) {
        seconds.push_back(works[i] ? benches_[i].seconds : 0.0);
        if (works[i]) {
            check_.look(*works[i], benches_[i].sum);
        }
    }
    return seconds;
}

void Workshop::work_through(Bench& bench, Work work) {
    const std::span<const float> items = bench.items->all();
    bench.sum = do_work(work, items);
    bench.seconds = team_.since_release();
    untimed_.fetch_sub(1, std::memory_order_relaxed);
    for (std::size_t begin = 0; untimed_.load(std::memory_order_relaxed) > 0;) {
        const std::size_t count = std::min(kPortion, items.size() - begin);
        bench.beside += do_work(work, items.subspan(begin, count));
        begin = (begin + count) % items.size();
    }
}

Experiment::Experiment(Workshop& workshop, std::string name, Cpus cpus, Works works)
    : workshop_(workshop),
      name_(std::move(name)),
      cpus_(std::move(cpus)),
      works_(std::move(works)),
      tracks_(works_.size()) {}

Sample Experiment::round() {
    Sample sample;
    if (failure_.empty()) {
        failure_ = workshop_.furnish(cpus_, works_);
    }
    sample.failure = failure_;
    if (!failure_.empty()) {
        return sample;
    }
    const std::vector<double> seconds = workshop_.round(works_, tracks_);
    double total = 0;
    int working = 0;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        if (works_[i]) {
            sample.seconds = std::max(sample.seconds, seconds[i]);
            sample.quantities[quantity_of(i)] = 1e3 * seconds[i];
            total += seconds[i];
            ++working;
        }
    }
    const double mean = total / working;
    sample.quantities["thread_ms"] = 1e3 * mean;
    sample.quantities["items_per_s"] = static_cast<double>(workshop_.items()) / mean;
    return sample;
}

std::string quantity_of(std::size_t thread) {
    return "thread" + std::to_string(thread) + "_ms";
}

}  // namespace pinstudy::smt
