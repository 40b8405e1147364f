#include "apps/lu/elimination.hpp"

#include "apps/common/parallel_loop.hpp"

namespace pinstudy::lu {

Factors::Factors(std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        std::vector<double>& row = m.emplace_back(n);
        l.emplace_back(n);
        for (std::int64_t j = 0; j < n; ++j) {
            row[j] = i == j ? 1.0 : static_cast<double>(1 + i * n + j);
        }
    }
}

double memory_bytes(std::int64_t n) {
    return 2.0 * sizeof(double) * static_cast<double>(n) * static_cast<double>(n);
}

void eliminate(Factors& factors) {
    const std::int64_t n = factors.size();
    for (std::int64_t k = 0; k + 1 < n; ++k) {
        const std::vector<double>& pivot_row = factors.m[k];
        parallel_loop<kRowsAtATime>(k + 1, n, [&](std::int64_t i) {
            std::vector<double>& row = factors.m[i];
            const double multiplier = row[k] / pivot_row[k];
            factors.l[i][k] = multiplier;
            for (std::int64_t j = k + 1; j < n; ++j) {
                row[j] -= multiplier * pivot_row[j];
            }
        });
    }
}

}  // namespace pinstudy::lu
