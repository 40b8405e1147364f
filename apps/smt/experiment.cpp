#include "apps/smt/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <utility>

namespace pinstudy::smt {
Works works_of(const std::string& word, std::int64_t threads) {
    Works works;
    for (std::int64_t i = 0; i < threads; ++i) {
        const bool sin = word == "sin" || (word == "mixed" && i % 2 == 1);
        works.push_back(sin ? Work::sin : Work::accumulate);
    }
    return works;
}

float expected(Work work, std::uint64_t items) {
    float sum = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        const float number = item(i);
        const float term = work == Work::accumulate ? number : std::sin(number);
        sum = static_cast<float>(static_cast<double>(sum) + static_cast<double>(term));
    }
    return sum;
}

Verdict Check::verdict(std::uint64_t items) const {
    std::string found;
    // Enough digits to tell any two floats apart.
    const auto text_of = [](float sum) { return printed("%.9g", static_cast<double>(sum)); };
    std::int64_t sums = 0;
    for (const auto& [work, counts] : sums_) {
        const float right = expected(work, items);
        for (const auto& [sum, count] : counts) {
            if (sum != right) {
                return {false, name_of(work) + ": " + std::to_string(count) + " sums are " +
                                   text_of(sum) + ", adding in order gives " + text_of(right)};
            }
            sums += count;
        }
        found += (found.empty() ? "" : ", ") + name_of(work) + " " + text_of(right);
    }
    return {sums > 0, std::to_string(sums) + (sums == 1 ? " sum" : " sums") +
                          ", as adding in order gives: " + found};
}

Experiment::Experiment(Team& team, std::int64_t items, Works works)
    : team_(team), works_(std::move(works)), benches_(works_.size()), seen_(team.threads()) {
    std::atomic<bool> full{false};
    team_.round([&](int thread) {
        try {
            benches_[static_cast<std::size_t>(thread)].items =
                std::make_unique<Items>(static_cast<std::size_t>(items));
        } catch (const std::bad_alloc&) {
            full = true;
        }
    });
    if (full) {
        throw std::runtime_error("not enough memory for the arrays");
    }
}

std::vector<double> Experiment::round() {
    untimed_ = team_.threads();
    seen_.add(team_.round([&](int thread) {
        const auto i = static_cast<std::size_t>(thread);
        work_through(benches_[i], works_[i]);
    }));
    std::vector<double> ms;
    for (std::size_t i = 0; i < works_.size(); ++i) {
        ms.push_back(1e3 * benches_[i].seconds);
        check_.look(works_[i], benches_[i].sum);
    }
    return ms;
}

void Experiment::work_through(Bench& bench, Work work) {
    // Small enough that a thread which goes on until all have been timed ends soon after.
    constexpr std::size_t kPortion = 16384;
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

}  // namespace pinstudy::smt
