#include "apps/contention/experiment.hpp"

#include <algorithm>
#include <cmath>

namespace pinstudy::contention {

// Relaxed order is enough for a count, and is what hardware of weak order does cheapest; on x86
// there is no cheaper and no dearer one.
void add(std::atomic<std::int32_t>& sum, std::int64_t times) noexcept {
    for (std::int64_t i = 0; i < times; ++i) {
        sum.fetch_add(1, std::memory_order_relaxed);
    }
}

void add(std::atomic<float>& sum, std::int64_t times) noexcept {
    for (std::int64_t i = 0; i < times; ++i) {
        const float next = sum.load(std::memory_order_relaxed) + 1.0F;
        sum.store(next, std::memory_order_relaxed);
    }
}

void Check::look(double sum) {
    const bool possible = sum >= lowest() && sum <= highest() && sum == std::floor(sum);
    if (!possible && wrong_++ == 0) {
        first_wrong_ = sum;
    }
    ++sums_;
    total_ += sum;
}

double Check::lost_share() const {
    return sums_ == 0 ? 0.0 : 1.0 - total_ / (highest() * static_cast<double>(sums_));
}

double Check::lowest() const {
    if (operation_ == Operation::integer) {
        return highest();
    }
    return times_ > 1 ? 2.0 : 1.0;
}

Verdict Check::verdict() const {
    const std::string expected =
        operation_ == Operation::integer
            ? printed("%.0f", highest())
            : printed("a whole number from %.0f to %.0f", lowest(), highest());
    if (wrong_ > 0) {
        return {false, std::to_string(wrong_) + " of " + std::to_string(sums_) + " sums are not " +
                           expected + printed("; the first one is %.1f", first_wrong_)};
    }
    return {sums_ > 0, std::to_string(sums_) + (sums_ == 1 ? " sum" : " sums") +
                           ", each of a pair in a round: " + expected};
}

Experiment::Experiment(Team& team, Operation operation, std::int64_t additions,
                       std::int64_t spacing)
    : team_(team),
      operation_(operation),
      additions_(additions),
      slots_(static_cast<std::size_t>(team.threads()) / 2, spacing),
      check_(operation, additions),
      seen_(team.threads()) {}

double Experiment::round() {
    if (check_.sums() == 0) {
        one_round();
    }
    const std::vector<Turn>& turns = one_round();
    seen_.add(turns);
    double seconds = 0;
    for (const Turn& turn : turns) {
        seconds = std::max(seconds, turn.seconds);
    }
    return 1e3 * seconds;
}

const std::vector<Turn>& Experiment::one_round() {
    return operation_ == Operation::integer ? one_round_of<std::int32_t>() : one_round_of<float>();
}

template <typename Number>
const std::vector<Turn>& Experiment::one_round_of() {
    const std::size_t pairs = static_cast<std::size_t>(team_.threads()) / 2;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        slots_.at<Number>(pair).store(0, std::memory_order_relaxed);
    }
    const std::vector<Turn>& turns = team_.round([this](int thread) {
        add(slots_.at<Number>(static_cast<std::size_t>(thread) / 2), additions_);
    });
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        check_.look(static_cast<double>(slots_.at<Number>(pair).load(std::memory_order_relaxed)));
    }
    return turns;
}

}  // namespace pinstudy::contention
