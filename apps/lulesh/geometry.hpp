// Vectors in space, and the eight corners of an element.
#pragma once

#include <array>
#include <cstdint>

namespace pinstudy::lulesh {

using Index = std::int32_t;  // of an element or a node

struct Vec3 {
    double x = 0.0;
    double y = 0.0;
    double z = 0.0;

    Vec3& operator+=(const Vec3& other) {
        x += other.x;
        y += other.y;
        z += other.z;
        return *this;
    }
};

inline Vec3 operator+(const Vec3& a, const Vec3& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

inline Vec3 operator-(const Vec3& a, const Vec3& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

inline Vec3 operator*(double factor, const Vec3& a) {
    return {factor * a.x, factor * a.y, factor * a.z};
}

inline double dot(const Vec3& a, const Vec3& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

inline Vec3 cross(const Vec3& a, const Vec3& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// One vector for each corner of an element: its position, its velocity, the force on it. Corners 0
// to 3 go around the lower face, 4 to 7 lie above them.
inline constexpr int kCorners = 8;
struct Corners {
    Vec3 operator[](int corner) const { return {x[corner], y[corner], z[corner]}; }
    void set(int corner, const Vec3& vector) {
        x[corner] = vector.x;
        y[corner] = vector.y;
        z[corner] = vector.z;
    }
    void add(int corner, const Vec3& vector) {
        x[corner] += vector.x;
        y[corner] += vector.y;
        z[corner] += vector.z;
    }

    double x[kCorners] = {};
    double y[kCorners] = {};
    double z[kCorners] = {};
};

}  // namespace pinstudy::lulesh
