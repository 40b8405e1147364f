#include "apps/contention/check.hpp"

#include <cmath>

namespace pinstudy::contention {

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

}  // namespace pinstudy::contention
