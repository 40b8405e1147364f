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

// The part of kStrip finished rows of U that says what their steps do to each other's columns: the
// square on the diagonal, with zeros on and below it, and its diagonal.
struct Corner {
    double u[kStrip][kStrip];
    double pivots[kStrip];
};

Corner corner_of(const Matrix& m, std::int64_t k0) {
    Corner corner{};
    for (std::int64_t k = 0; k < kStrip; ++k) {
        const double* const row = m.row(k0 + k) + k0;
        corner.pivots[k] = row[k];
        for (std::int64_t j = 0; j < kStrip; ++j) {
            corner.u[k][j] = j > k ? row[j] : 0.0;
        }
    }
    return corner;
}

// Applies kStrip steps to as many elements of a row, which thereby become multipliers. The zeros of
// the corner leave alone what the step does not concern, and keep the loops free of conditions.
void reduce_head(const Corner& corner, double* row) {
    double a[kStrip];
    std::memcpy(a, row, sizeof a);
    for (std::int64_t k = 0; k < kStrip; ++k) {
        const double multiplier = a[k] / corner.pivots[k];
        row[k] = multiplier;
        for (std::int64_t j = 0; j < kStrip; ++j) {
            a[j] -= multiplier * corner.u[k][j];
        }
    }
}

// Applies kStrip steps, whose multipliers are known, to kVectors vectors in each of kTileRows rows:
// a -= multipliers u. All three point to the first element; a row is `stride` behind the one
// before.
template <std::int64_t kVectors>
void reduce_tile(double* a, const double* multipliers, const double* u, std::int64_t stride) {
    Vector tile[kTileRows][kVectors];
    for (std::int64_t r = 0; r < kTileRows; ++r) {
        for (std::int64_t v = 0; v < kVectors; ++v) {
            tile[r][v] = load(a + r * stride + v * kLength);
        }
    }
    for (std::int64_t k = 0; k < kStrip; ++k) {
        for (std::int64_t v = 0; v < kVectors; ++v) {
            const Vector row = load(u + k * stride + v * kLength);
            for (std::int64_t r = 0; r < kTileRows; ++r) {
                tile[r][v] -= multipliers[r * stride + k] * row;
            }
        }
    }
    for (std::int64_t r = 0; r < kTileRows; ++r) {
        for (std::int64_t v = 0; v < kVectors; ++v) {
            store(a + r * stride + v * kLength, tile[r][v]);
        }
    }
}

// Applies the steps k0 to k0 + kStrip - 1, whose rows of U are finished, to the strip of rows that
// begins with row i0.
void reduce_strip(Matrix& m, std::int64_t k0, std::int64_t i0) {
    const Corner corner = corner_of(m, k0);
    for (std::int64_t i = i0; i < i0 + kStrip; ++i) {
        reduce_head(corner, m.row(i) + k0);
    }
    const std::int64_t end = m.strips() * kStrip;
    for (std::int64_t j0 = k0 + kStrip; j0 < end; j0 += kColumnBlock) {
        const std::int64_t j_end = std::min(j0 + kColumnBlock, end);
        for (std::int64_t i = i0; i < i0 + kStrip; i += kTileRows) {
            double* const row = m.row(i);
            std::int64_t j = j0;
            for (; j + kTileColumns <= j_end; j += kTileColumns) {
                reduce_tile<kTileVectors>(row + j, row + k0, m.row(k0) + j, m.stride());
            }
            for (; j < j_end; j += kLength) {
                reduce_tile<1>(row + j, row + k0, m.row(k0) + j, m.stride());
            }
        }
    }
}

// One step of the textbook on a row, for the columns k+1 to `end`.
void reduce_row(const double* u, double* a, std::int64_t k, std::int64_t end) {
    const double multiplier = a[k] / u[k];
    a[k] = multiplier;
    for (std::int64_t j = k + 1; j < end; ++j) {
        a[j] -= multiplier * u[j];
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

// Writes row i, of which the first `used` elements are the matrix's and the others zeros.
void fill_row(Matrix& m, std::int64_t i, std::int64_t used) {
    double* const row = m.row(i);
    const auto first = static_cast<double>(1 + i * m.size());
    // An int, which is enough for a column, becomes a double in one instruction for a whole vector.
    const int columns = static_cast<int>(used);
    for (int j = 0; j < columns; ++j) {
        row[j] = first + j;
    }
    std::fill(row + used, row + m.strips() * kStrip, 0.0);
    if (i < used) {
        row[i] = 1.0;
    }
}

}  // namespace

void fill(Matrix& m) {
    const std::int64_t n = m.size();
#pragma omp parallel for schedule(runtime)
    for (std::int64_t strip = 0; strip < m.strips(); ++strip) {
        for (std::int64_t i = strip * kStrip; i < (strip + 1) * kStrip; ++i) {
            fill_row(m, i, i < n ? n : 0);
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
