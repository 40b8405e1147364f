#include "apps/lu/elimination.hpp"

#include <algorithm>
#include <cstring>

#include "apps/common/schedule.hpp"
#include "apps/common/vector.hpp"

namespace pinstudy::lu {
namespace {

constexpr auto kLength = static_cast<std::int64_t>(kVectorLength);

// A tile of kTileRows x kTileColumns elements stays in registers while kStrip steps are applied to
// it: 8 vectors are as many sums as the latency of a multiplication with addition asks for, and
// leave room in 16 registers for a row of U and a multiplier.
constexpr std::int64_t kTileRows = 4;
constexpr std::int64_t kTileVectors = 2;
constexpr std::int64_t kTileColumns = kTileVectors * kLength;
static_assert(kStrip % kTileRows == 0);

// So many columns of a strip of U fit into half of a 32 KiB first-level cache.
constexpr std::int64_t kColumnBlock = 256;
static_assert(kColumnBlock % kTileColumns == 0);

Vector load(const double* from) {
    return *reinterpret_cast<const Vector*>(from);
}

void store(double* to, Vector vector) {
    *reinterpret_cast<Vector*>(to) = vector;
}

// One step of the textbook on row i, for the columns k+1 to `end`.
void reduce_row(const double* u, double* a, std::int64_t k, std::int64_t end) {
    const double multiplier = a[k] / u[k];
    a[k] = multiplier;
    for (std::int64_t j = k + 1; j < end; ++j) {
        a[j] -= multiplier * u[j];
    }
}

// Applies the steps k0 to k0 + kStrip - 1, whose multipliers are known, to kVectors vectors of
// columns from j in kTileRows rows from i.
template <std::int64_t kVectors>
void reduce_tile(Matrix& m, std::int64_t k0, std::int64_t i, std::int64_t j) {
    Vector a[kTileRows][kVectors];
    for (std::int64_t r = 0; r < kTileRows; ++r) {
        for (std::int64_t v = 0; v < kVectors; ++v) {
            a[r][v] = load(m.row(i + r) + j + v * kLength);
        }
    }
    for (std::int64_t k = k0; k < k0 + kStrip; ++k) {
        for (std::int64_t v = 0; v < kVectors; ++v) {
            const Vector u = load(m.row(k) + j + v * kLength);
            for (std::int64_t r = 0; r < kTileRows; ++r) {
                a[r][v] -= m.row(i + r)[k] * u;
            }
        }
    }
    for (std::int64_t r = 0; r < kTileRows; ++r) {
        for (std::int64_t v = 0; v < kVectors; ++v) {
            store(m.row(i + r) + j + v * kLength, a[r][v]);
        }
    }
}

// Applies the steps k0 to k0 + kStrip - 1, whose rows of U are finished, to the strip of rows that
// begins with row i0.
void reduce_strip(Matrix& m, std::int64_t k0, std::int64_t i0) {
    const std::int64_t trailing = k0 + kStrip;
    for (std::int64_t i = i0; i < i0 + kStrip; ++i) {
        for (std::int64_t k = k0; k < trailing; ++k) {
            reduce_row(m.row(k), m.row(i), k, trailing);
        }
    }
    const std::int64_t end = m.strips() * kStrip;
    for (std::int64_t j0 = trailing; j0 < end; j0 += kColumnBlock) {
        const std::int64_t j_end = std::min(j0 + kColumnBlock, end);
        for (std::int64_t i = i0; i < i0 + kStrip; i += kTileRows) {
            std::int64_t j = j0;
            for (; j + kTileColumns <= j_end; j += kTileColumns) {
                reduce_tile<kTileVectors>(m, k0, i, j);
            }
            for (; j < j_end; j += kLength) {
                reduce_tile<1>(m, k0, i, j);
            }
        }
    }
}

// Applies the steps of a strip to the strip's own rows, which are then rows of U.
void finish_strip(Matrix& m, std::int64_t k0) {
    const std::int64_t k_end = std::min(k0 + kStrip, m.size());
    const std::int64_t end = m.strips() * kStrip;
    for (std::int64_t k = k0; k < k_end; ++k) {
        for (std::int64_t i = k + 1; i < k_end; ++i) {
            reduce_row(m.row(k), m.row(i), k, end);
        }
    }
}

}  // namespace

void fill(Matrix& m) {
    const std::int64_t n = m.size();
#pragma omp parallel for schedule(runtime)
    for (std::int64_t strip = 0; strip < m.strips(); ++strip) {
        for (std::int64_t i = strip * kStrip; i < (strip + 1) * kStrip; ++i) {
            double* const row = m.row(i);
            for (std::int64_t j = 0; j < m.strips() * kStrip; ++j) {
                const bool inside = i < n && j < n;
                row[j] = !inside ? 0.0 : i == j ? 1.0 : static_cast<double>(1 + i * n + j);
            }
        }
    }
}

int eliminate(Matrix& m) {
    int threads = 1;
    finish_strip(m, 0);
#pragma omp parallel
    {
#pragma omp single nowait
        threads = team_size();
        for (std::int64_t done = 0; done + 1 < m.strips(); ++done) {
            // From 0 on, though only the strips below are left: so a static schedule gives a strip
            // to the same thread in every step.
#pragma omp for schedule(runtime)
            for (std::int64_t strip = 0; strip < m.strips(); ++strip) {
                if (strip > done) {
                    reduce_strip(m, done * kStrip, strip * kStrip);
                }
                if (strip == done + 1) {
                    finish_strip(m, strip * kStrip);
                }
            }
        }
    }
    return threads;
}

}  // namespace pinstudy::lu
