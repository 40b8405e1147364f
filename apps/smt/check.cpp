#include "apps/smt/check.hpp"

#include <cmath>

namespace pinstudy::smt {
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

}  // namespace pinstudy::smt
