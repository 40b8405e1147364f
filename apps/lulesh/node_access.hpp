// Between memory, where a node's three components lie together, and lanes, one element each.
//
// Elements find their nodes through the connectivity, so neighbouring lanes read from unrelated
// addresses. With x, y and z of a node side by side (four doubles, the last one idle) one load
// brings all three, and a few register shuffles turn nodes into lanes: cheaper than gathering every
// component by itself, with or without gather instructions.
#pragma once

#include <cstddef>

#include "apps/lulesh/geometry.hpp"

namespace pinstudy::lulesh {

inline constexpr std::size_t kNodeStride = 4;  // doubles from one node (or corner) to the next

#if defined(__has_builtin)
    #if __has_builtin(__builtin_shufflevector)
        #define PINSTUDY_LULESH_SHUFFLES 1
    #endif
#endif

#if defined(PINSTUDY_LULESH_SHUFFLES) && defined(__AVX512F__)

// The vectors of the nodes nodes[0], nodes[1], ... of the field.
inline Vec3 gather_nodes(const double* field, const Index* nodes) {
    const auto at = [&](int lane) {
        return load_quad(field + kNodeStride * static_cast<std::size_t>(nodes[lane]));
    };
    const auto pair = [&](int a, int b) {
        // The forms with a mask do not trip GCC's warning about uninitialised values.
        return _mm512_maskz_insertf64x4(0xff, _mm512_castpd256_pd512(at(a)), at(b), 1);
    };
    const Real n04 = pair(0, 4);
    const Real n15 = pair(1, 5);
    const Real n26 = pair(2, 6);
    const Real n37 = pair(3, 7);
    const Real xz01 = __builtin_shufflevector(n04, n15, 0, 8, 2, 10, 4, 12, 6, 14);
    const Real xz23 = __builtin_shufflevector(n26, n37, 0, 8, 2, 10, 4, 12, 6, 14);
    const Real y01 = __builtin_shufflevector(n04, n15, 1, 9, 3, 11, 5, 13, 7, 15);
    const Real y23 = __builtin_shufflevector(n26, n37, 1, 9, 3, 11, 5, 13, 7, 15);
    return {__builtin_shufflevector(xz01, xz23, 0, 1, 8, 9, 4, 5, 12, 13),
            __builtin_shufflevector(y01, y23, 0, 1, 8, 9, 4, 5, 12, 13),
            __builtin_shufflevector(xz01, xz23, 2, 3, 10, 11, 6, 7, 14, 15)};
}

// Writes lane l of the vector to to[l * stride ...], and 0 to the idle double behind it.
inline void scatter(double* to, std::size_t stride, const Vec3& value) {
    const Real zero{};
    const Real xy_even = __builtin_shufflevector(value.x, value.y, 0, 8, 2, 10, 4, 12, 6, 14);
    const Real xy_odd = __builtin_shufflevector(value.x, value.y, 1, 9, 3, 11, 5, 13, 7, 15);
    const Real z_even = __builtin_shufflevector(value.z, zero, 0, 8, 2, 10, 4, 12, 6, 14);
    const Real z_odd = __builtin_shufflevector(value.z, zero, 1, 9, 3, 11, 5, 13, 7, 15);
    const auto put = [&](std::size_t lane, Real xy, Real z) {
        const Real low = __builtin_shufflevector(xy, z, 0, 1, 8, 9, 2, 3, 10, 11);
        const Real high = __builtin_shufflevector(xy, z, 4, 5, 12, 13, 6, 7, 14, 15);
        store_quad(to + lane * stride, _mm512_maskz_extractf64x4_pd(0xf, low, 0));
        store_quad(to + (lane + 2) * stride, _mm512_maskz_extractf64x4_pd(0xf, low, 1));
        store_quad(to + (lane + 4) * stride, _mm512_maskz_extractf64x4_pd(0xf, high, 0));
        store_quad(to + (lane + 6) * stride, _mm512_maskz_extractf64x4_pd(0xf, high, 1));
    };
    put(0, xy_even, z_even);
    put(1, xy_odd, z_odd);
}

#elif defined(PINSTUDY_LULESH_SHUFFLES) && defined(__AVX__)

inline Vec3 gather_nodes(const double* field, const Index* nodes) {
    const auto at = [&](int lane) {
        return load_quad(field + kNodeStride * static_cast<std::size_t>(nodes[lane]));
    };
    const Quad n0 = at(0);
    const Quad n1 = at(1);
    const Quad n2 = at(2);
    const Quad n3 = at(3);
    const Quad xz01 = __builtin_shufflevector(n0, n1, 0, 4, 2, 6);
    const Quad xz23 = __builtin_shufflevector(n2, n3, 0, 4, 2, 6);
    const Quad y01 = __builtin_shufflevector(n0, n1, 1, 5, 3, 7);
    const Quad y23 = __builtin_shufflevector(n2, n3, 1, 5, 3, 7);
    return {__builtin_shufflevector(xz01, xz23, 0, 1, 4, 5),
            __builtin_shufflevector(y01, y23, 0, 1, 4, 5),
            __builtin_shufflevector(xz01, xz23, 2, 3, 6, 7)};
}

inline void scatter(double* to, std::size_t stride, const Vec3& value) {
    const Quad zero{};
    const Quad xy_even = __builtin_shufflevector(value.x, value.y, 0, 4, 2, 6);
    const Quad xy_odd = __builtin_shufflevector(value.x, value.y, 1, 5, 3, 7);
    const Quad z_even = __builtin_shufflevector(value.z, zero, 0, 4, 2, 6);
    const Quad z_odd = __builtin_shufflevector(value.z, zero, 1, 5, 3, 7);
    store_quad(to, __builtin_shufflevector(xy_even, z_even, 0, 1, 4, 5));
    store_quad(to + stride, __builtin_shufflevector(xy_odd, z_odd, 0, 1, 4, 5));
    store_quad(to + 2 * stride, __builtin_shufflevector(xy_even, z_even, 2, 3, 6, 7));
    store_quad(to + 3 * stride, __builtin_shufflevector(xy_odd, z_odd, 2, 3, 6, 7));
}

#else

inline Vec3 gather_nodes(const double* field, const Index* nodes) {
    Vec3 value{};
    for (int lane = 0; lane < kLanes; ++lane) {
        const double* const node = field + kNodeStride * static_cast<std::size_t>(nodes[lane]);
        value.x[lane] = node[0];
        value.y[lane] = node[1];
        value.z[lane] = node[2];
    }
    return value;
}

inline void scatter(double* to, std::size_t stride, const Vec3& value) {
    for (int lane = 0; lane < kLanes; ++lane) {
        double* const place = to + static_cast<std::size_t>(lane) * stride;
        place[0] = value.x[lane];
        place[1] = value.y[lane];
        place[2] = value.z[lane];
        place[3] = 0.0;
    }
}

#endif

// The vectors of all corners of kLanes elements; `nodes` holds kLanes nodes per corner.
inline Corners gather_corners(const double* field, const Index* nodes) {
    Corners corners;
    for (int corner = 0; corner < kCorners; ++corner) {
        corners.at[corner] = gather_nodes(field, nodes + corner * kLanes);
    }
    return corners;
}

}  // namespace pinstudy::lulesh
