#include "apps/lu/matrix.hpp"

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

}  // namespace pinstudy::lu
