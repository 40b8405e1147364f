// Vectors of doubles, one lane an element: what the element kernels compute with.
//
// The kernels are written once, as formulas over `Real`; a Real is as wide as the vector registers
// of the instruction set compiled for. Operators are the compiler's own (GCC and Clang vector
// extension), so that no kernel depends on what an automatic vectoriser finds out, and every
// element goes through the same operations in whatever lane it happens to be.
#pragma once

#ifdef __AVX__
    #include <immintrin.h>
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "apps/common/vector.hpp"

namespace pinstudy::lulesh {

// Elements that are computed at a time.
inline constexpr int kLanes = static_cast<int>(kVectorLength);

using Index = std::int32_t;
using Real = Vector;
using Bits [[gnu::vector_size(kVectorBytes)]] = std::int64_t;
// Four doubles: the x, y, z of one node or corner and a lane that is not used.
using Quad [[gnu::vector_size(4 * sizeof(double))]] = double;

// Clang's thread sanitizer looks at no access of more than 16 bytes. For it, and only for it,
// vectors are read and written lane by lane.
#if defined(__has_feature)
    #if __has_feature(thread_sanitizer)
        #define PINSTUDY_LULESH_ACCESS_BY_LANE 1
    #endif
#endif

template <class Lanes>
Lanes load_vector(const double* from) {
    Lanes value;
#ifdef PINSTUDY_LULESH_ACCESS_BY_LANE
    for (std::size_t lane = 0; lane < sizeof value / sizeof *from; ++lane) {
        value[lane] = static_cast<const volatile double*>(from)[lane];
    }
#else
    std::memcpy(&value, from, sizeof value);
#endif
    return value;
}

template <class Lanes>
void store_vector(double* to, Lanes value) {
#ifdef PINSTUDY_LULESH_ACCESS_BY_LANE
    for (std::size_t lane = 0; lane < sizeof value / sizeof *to; ++lane) {
        static_cast<volatile double*>(to)[lane] = value[lane];
    }
#else
    std::memcpy(to, &value, sizeof value);
#endif
}

inline Real load(const double* from) {
    return load_vector<Real>(from);
}

inline void store(double* to, Real value) {
    store_vector(to, value);
}

inline Real splat(double value) {
    Real result;
    for (int lane = 0; lane < kLanes; ++lane) {
        result[lane] = value;
    }
    return result;
}

inline Quad load_quad(const double* from) {
    return load_vector<Quad>(from);
}

inline void store_quad(double* to, Quad value) {
    store_vector(to, value);
}

inline Real min(Real a, Real b) {
    return a < b ? a : b;
}
inline Real max(Real a, Real b) {
    return a > b ? a : b;
}

inline Real abs(Real value) {
    return reinterpret_cast<Real>(reinterpret_cast<Bits>(value) & INT64_MAX);
}

inline Real sqrt(Real value) {
    double lanes[kLanes];
    store(lanes, value);
    for (double& lane : lanes) {
        lane = std::sqrt(lane);
    }
    return load(lanes);
}

// Whether a comparison holds in at least one lane.
inline bool any(Bits comparison) {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(comparison),
                                  reinterpret_cast<__m512i>(comparison)) != 0;
#elif defined(__AVX__)
    return _mm256_movemask_pd(reinterpret_cast<__m256d>(comparison)) != 0;
#else
    std::int64_t result = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        result |= comparison[lane];
    }
    return result != 0;
#endif
}

inline double lowest(Real value) {
    double result = value[0];
    for (int lane = 1; lane < kLanes; ++lane) {
        result = value[lane] < result ? value[lane] : result;
    }
    return result;
}

inline double highest(Real value) {
    return -lowest(-value);
}

// 1 / cbrt(value) for positive normal numbers, within 2 units in the last place.
//
// y = 2^(-log2(value)/3), from the number's bit pattern taken as a logarithm, is right within 3.5
// %. With r = 1 - value y^3, value^(-1/3) = y (1-r)^(-1/3) = y (1 + r/3 + 2r^2/9 + 14r^3/81 + ...):
// two such steps reach full precision and need no division.
inline Real inverse_cbrt(Real value) {
    // Exponent and mantissa bits as an integer below 2^31, made a double by 2^52's bit pattern.
    constexpr std::int64_t kTwoTo52 = 0x4330000000000000;
    constexpr double kOffset = 4503599627370496.0;  // 2^52
    // 4/3 of the exponent's bias (1023 * 2^20), less what makes the largest error smallest.
    constexpr double kStart = 1430257664.0 - 70000.0;
    const Real logarithm =
        reinterpret_cast<Real>((reinterpret_cast<Bits>(value) >> 32) | kTwoTo52) - kOffset;
    const Real guess = (kStart - logarithm * (1.0 / 3.0)) + kOffset;
    Real y = reinterpret_cast<Real>(reinterpret_cast<Bits>(guess) << 32);
    for (int step = 0; step < 2; ++step) {
        const Real r = 1.0 - value * y * y * y;
        y += y * r * (1.0 / 3.0 + r * (2.0 / 9.0 + r * (14.0 / 81.0)));
    }
    return y;
}

}  // namespace pinstudy::lulesh
