// Vectors in space and the eight corners of a hexahedron, for kLanes elements at a time.
#pragma once

#include "apps/lulesh/simd.hpp"

namespace pinstudy::lulesh {

struct Vec3 {
    Real x, y, z;
};

// Corner i of an element is at the (x, y, z) offsets 000 100 110 010 001 101 111 011 for i = 0..7.
inline constexpr int kCorners = 8;

struct Corners {
    Vec3 at[kCorners];
};

inline Vec3 operator+(const Vec3& a, const Vec3& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
inline Vec3 operator-(const Vec3& a, const Vec3& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline Vec3 operator*(Real factor, const Vec3& a) {
    return {factor * a.x, factor * a.y, factor * a.z};
}
inline Vec3 operator*(double factor, const Vec3& a) {
    return {factor * a.x, factor * a.y, factor * a.z};
}

// factor * a + b
inline Vec3 multiply_add(Real factor, const Vec3& a, const Vec3& b) {
    return {factor * a.x + b.x, factor * a.y + b.y, factor * a.z + b.z};
}

inline Vec3 cross(const Vec3& a, const Vec3& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

inline Real dot(const Vec3& a, const Vec3& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

}  // namespace pinstudy::lulesh
