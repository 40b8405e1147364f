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

struct NodeLanes {
    Quad at[kLanes];
};

inline double* node_place(double* field, Index node) {
    return field + kNodeStride * static_cast<std::size_t>(node);
}
inline const double* node_place(const double* field, Index node) {
    return field + kNodeStride * static_cast<std::size_t>(node);
}

#if defined(__has_builtin)
    #if __has_builtin(__builtin_shufflevector)
        #define PINSTUDY_LULESH_SHUFFLES 1
    #endif
#endif

#if defined(PINSTUDY_LULESH_SHUFFLES) && defined(__AVX512F__)

// The vectors of the nodes nodes[0], nodes[1], ... of the field.
inline Vec3 gather_nodes(const double* field, const Index* nodes) {
    const auto at = [&](int lane) { return load_quad(node_place(field, nodes[lane])); };
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

// The vectors lane by lane, with 0 behind x, y, z.
inline NodeLanes node_lanes(const Vec3& value) {
    const Real zero{};
    const Real xy_even = __builtin_shufflevector(value.x, value.y, 0, 8, 2, 10, 4, 12, 6, 14);
    const Real xy_odd = __builtin_shufflevector(value.x, value.y, 1, 9, 3, 11, 5, 13, 7, 15);
    const Real z_even = __builtin_shufflevector(value.z, zero, 0, 8, 2, 10, 4, 12, 6, 14);
    const Real z_odd = __builtin_shufflevector(value.z, zero, 1, 9, 3, 11, 5, 13, 7, 15);
    const Real n02 = __builtin_shufflevector(xy_even, z_even, 0, 1, 8, 9, 2, 3, 10, 11);
    const Real n46 = __builtin_shufflevector(xy_even, z_even, 4, 5, 12, 13, 6, 7, 14, 15);
    const Real n13 = __builtin_shufflevector(xy_odd, z_odd, 0, 1, 8, 9, 2, 3, 10, 11);
    const Real n57 = __builtin_shufflevector(xy_odd, z_odd, 4, 5, 12, 13, 6, 7, 14, 15);
    const auto low = [](Real both) { return _mm512_maskz_extractf64x4_pd(0xf, both, 0); };
    const auto high = [](Real both) { return _mm512_maskz_extractf64x4_pd(0xf, both, 1); };
    return {{low(n02), low(n13), high(n02), high(n13), low(n46), low(n57), high(n46), high(n57)}};
}

#elif defined(PINSTUDY_LULESH_SHUFFLES) && defined(__AVX__)

inline Vec3 gather_nodes(const double* field, const Index* nodes) {
    const auto at = [&](int lane) { return load_quad(node_place(field, nodes[lane])); };
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

inline NodeLanes node_lanes(const Vec3& value) {
    const Quad zero{};
    const Quad xy_even = __builtin_shufflevector(value.x, value.y, 0, 4, 2, 6);
    const Quad xy_odd = __builtin_shufflevector(value.x, value.y, 1, 5, 3, 7);
    const Quad z_even = __builtin_shufflevector(value.z, zero, 0, 4, 2, 6);
    const Quad z_odd = __builtin_shufflevector(value.z, zero, 1, 5, 3, 7);
    return {{__builtin_shufflevector(xy_even, z_even, 0, 1, 4, 5),
             __builtin_shufflevector(xy_odd, z_odd, 0, 1, 4, 5),
             __builtin_shufflevector(xy_even, z_even, 2, 3, 6, 7),
             __builtin_shufflevector(xy_odd, z_odd, 2, 3, 6, 7)}};
}

#else

inline Vec3 gather_nodes(const double* field, const Index* nodes) {
    Vec3 value{};
    for (int lane = 0; lane < kLanes; ++lane) {
        const double* const node = node_place(field, nodes[lane]);
        value.x[lane] = node[0];
        value.y[lane] = node[1];
        value.z[lane] = node[2];
    }
    return value;
}

inline NodeLanes node_lanes(const Vec3& value) {
    NodeLanes lanes;
    for (int lane = 0; lane < kLanes; ++lane) {
        lanes.at[lane] = Quad{value.x[lane], value.y[lane], value.z[lane], 0.0};
    }
    return lanes;
}

#endif

// Adds the vectors to those of the nodes nodes[0], nodes[1], ..., one after the other.
inline void add_to_nodes(double* field, const Index* nodes, const Vec3& value) {
    const NodeLanes lanes = node_lanes(value);
    for (int lane = 0; lane < kLanes; ++lane) {
        double* const place = node_place(field, nodes[lane]);
        store_quad(place, load_quad(place) + lanes.at[lane]);
    }
}

// The vectors of all corners of kLanes elements; `nodes` holds kLanes nodes per corner.
inline Corners gather_corners(const double* field, const Index* nodes) {
    Corners corners;
    for (int corner = 0; corner < kCorners; ++corner) {
        corners.at[corner] = gather_nodes(field, nodes + corner * kLanes);
    }
    return corners;
}

}  // namespace pinstudy::lulesh
