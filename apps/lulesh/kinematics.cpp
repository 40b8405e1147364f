#include "apps/lulesh/kinematics.hpp"

#include <algorithm>
#include <cmath>

#include "apps/common/parallel_loop.hpp"
#include "apps/lulesh/temporary.hpp"

namespace pinstudy::lulesh {
namespace {

// The diagonal of the velocity gradient of each element: the rates of its principal strains.
struct StrainRates {
    explicit StrainRates(Index elements)
        : xx(temporary(elements)), yy(temporary(elements)), zz(temporary(elements)) {}
    Temporary xx, yy, zz;
};

// The square of twice the area of the face a, b, c, d: of the cross product of its diagonals.
inline double face_measure(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
    const Vec3 difference = (c - a) - (d - b);
    const Vec3 sum = (c - a) + (d - b);
    const double mixed = dot(difference, sum);
    return dot(difference, difference) * dot(sum, sum) - mixed * mixed;
}

// The diagonal of the velocity gradient at the centre.
inline Vec3 velocity_gradient(const ShapeDerivatives& shape, const Corners& u) {
    const Vec3 d06 = u[0] - u[6];
    const Vec3 d17 = u[1] - u[7];
    const Vec3 d24 = u[2] - u[4];
    const Vec3 d35 = u[3] - u[5];
    const auto& b = shape.b;
    const double inverse = 1.0 / shape.determinant;
    return {inverse * (b[0].x * d06.x + b[1].x * d17.x + b[2].x * d24.x + b[3].x * d35.x),
            inverse * (b[0].y * d06.y + b[1].y * d17.y + b[2].y * d24.y + b[3].y * d35.y),
            inverse * (b[0].z * d06.z + b[1].z * d17.z + b[2].z * d24.z + b[3].z * d35.z)};
}

void calculate_strain_rates(Domain& domain, StrainRates& rates, double dt) {
    Elements& elements = domain.elements;
    parallel_loop(0, domain.mesh.element_count, [&](Index element) {
        Corners x = domain.positions(element);
        const double volume = hexahedron_volume(x);
        elements.vnew[element] = volume / elements.volo[element];
        elements.delv[element] = elements.vnew[element] - elements.v[element];
        elements.arealg[element] = characteristic_length(x, volume);

        const Corners u = domain.velocities(element);
        for (int corner = 0; corner < kCorners; ++corner) {
            x.add(corner, -0.5 * dt * u[corner]);
        }
        const Vec3 gradient = velocity_gradient(shape_derivatives(x), u);
        rates.xx[element] = gradient.x;
        rates.yy[element] = gradient.y;
        rates.zz[element] = gradient.z;
    });
}

// The rate of the volume, and what of the strain rates changes the shape only (which a gas does not
// resist).
void separate_volume_rates(Elements& elements, Index count, StrainRates& rates) {
    VolumeCheck check;
    parallel_loop(0, count, [&](Index i) {
        elements.vdov[i] = rates.xx[i] + rates.yy[i] + rates.zz[i];
        const double third = elements.vdov[i] / 3.0;
        rates.xx[i] -= third;
        rates.yy[i] -= third;
        rates.zz[i] -= third;
        check.look_at(elements.vnew[i]);
    });
    check.require_positive();
}

}  // namespace

double hexahedron_volume(const Corners& x) {
    const auto triple = [](const Vec3& a, const Vec3& b, const Vec3& c) {
        return dot(a, cross(b, c));
    };
    return (triple((x[3] - x[1]) + (x[7] - x[2]), x[6] - x[3], x[2] - x[0]) +
            triple((x[4] - x[3]) + (x[5] - x[7]), x[6] - x[4], x[7] - x[0]) +
            triple((x[1] - x[4]) + (x[2] - x[5]), x[6] - x[1], x[5] - x[0])) *
           (1.0 / 12.0);
}

double characteristic_length(const Corners& x, double volume) {
    double largest = face_measure(x[0], x[1], x[2], x[3]);
    largest = std::max(largest, face_measure(x[4], x[5], x[6], x[7]));
    largest = std::max(largest, face_measure(x[0], x[1], x[5], x[4]));
    largest = std::max(largest, face_measure(x[1], x[2], x[6], x[5]));
    largest = std::max(largest, face_measure(x[2], x[3], x[7], x[6]));
    largest = std::max(largest, face_measure(x[3], x[0], x[4], x[7]));
    return 4.0 * volume / std::sqrt(largest);
}

void calculate_kinematics(Domain& domain, double dt) {
    const Index count = domain.mesh.element_count;
    StrainRates rates(count);
    calculate_strain_rates(domain, rates, dt);
    separate_volume_rates(domain.elements, count, rates);
}

}  // namespace pinstudy::lulesh
