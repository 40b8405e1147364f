#include "apps/lulesh/viscosity.hpp"

#include <algorithm>
#include <cmath>

#include "apps/common/parallel_loop.hpp"
#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/temporary.hpp"

namespace pinstudy::lulesh {
namespace {

// Along one of the elements' own axes: the velocity difference over each element, relative to its
// size, and that size.
struct AxisGradients {
    explicit AxisGradients(Index elements) : delv(temporary(elements)), delx(temporary(elements)) {}
    Temporary delv, delx;
};

struct Gradients {
    explicit Gradients(Index elements) : xi(elements), eta(elements), zeta(elements) {}
    AxisGradients xi, eta, zeta;
};

// The difference of a field over an element along its axes: between the centres of opposite faces.
struct Differences {
    explicit Differences(const Corners& f)
        : xi(0.25 * ((f[1] + f[2] + f[6] + f[5]) - (f[0] + f[3] + f[7] + f[4]))),
          eta(0.25 * ((f[3] + f[2] + f[6] + f[7]) - (f[0] + f[1] + f[5] + f[4]))),
          zeta(0.25 * ((f[4] + f[5] + f[6] + f[7]) - (f[0] + f[1] + f[2] + f[3]))) {}
    Vec3 xi, eta, zeta;
};

// `normal` is the product of the other two axes: the area across which the element extends.
inline void set_gradient(AxisGradients& gradients, Index element, const Vec3& normal, const Vec3& u,
                         double volume) {
    gradients.delx[element] = volume / std::sqrt(dot(normal, normal) + kTiny);
    gradients.delv[element] = 1.0 / (volume + kTiny) * dot(normal, u);
}

void calculate_gradients(const Domain& domain, Gradients& gradients) {
    const Elements& elements = domain.elements;
    parallel_loop(0, domain.mesh.element_count, [&](Index element) {
        const Differences x(domain.positions(element));
        const Differences u(domain.velocities(element));
        const double volume = elements.volo[element] * elements.vnew[element];
        set_gradient(gradients.zeta, element, cross(x.xi, x.eta), u.zeta, volume);
        set_gradient(gradients.xi, element, cross(x.eta, x.zeta), u.xi, volume);
        set_gradient(gradients.eta, element, cross(x.zeta, x.xi), u.eta, volume);
    });
}

// delv beyond a face: mirrored at a plane of symmetry, nothing where the mesh ends.
inline double beyond(const Mesh& mesh, const Temporary& delv, Index element, Face face) {
    switch (mesh.beyond(element, face)) {
        case Beyond::kElement:
            return delv[mesh.neighbours[face][element]];
        case Beyond::kSymmetryPlane:
            return delv[element];
        case Beyond::kNothing:
            break;
    }
    return 0.0;
}

inline AxisGradient along(const Mesh& mesh, const AxisGradients& gradients, Index element,
                          Face minus, Face plus) {
    return {gradients.delv[element], gradients.delx[element],
            beyond(mesh, gradients.delv, element, minus),
            beyond(mesh, gradients.delv, element, plus)};
}

void calculate_region_viscosity(Domain& domain, const Gradients& gradients,
                                const std::vector<Index>& region) {
    const Mesh& mesh = domain.mesh;
    Elements& elements = domain.elements;
    const auto count = static_cast<Index>(region.size());
    parallel_loop(0, count, [&](Index i) {
        const Index element = region[i];
        const AxisGradient axes[3] = {along(mesh, gradients.xi, element, kXiMinus, kXiPlus),
                                      along(mesh, gradients.eta, element, kEtaMinus, kEtaPlus),
                                      along(mesh, gradients.zeta, element, kZetaMinus, kZetaPlus)};
        ViscosityTerms terms{0.0, 0.0};
        if (elements.vdov[element] <= 0.0) {  // what expands has no viscosity
            const double volume = elements.volo[element] * elements.vnew[element];
            terms = monotonic_viscosity(axes, elements.mass[element] / volume);
        }
        elements.ql[element] = terms.linear;
        elements.qq[element] = terms.quadratic;
    });
}

}  // namespace

double limiter(const AxisGradient& axis) {
    const double norm = 1.0 / (axis.delv + kTiny);
    const double minus = axis.minus * norm;
    const double plus = axis.plus * norm;
    double phi = 0.5 * (minus + plus);
    phi = std::min(phi, kLimiterMultiplier * minus);
    phi = std::min(phi, kLimiterMultiplier * plus);
    return std::clamp(phi, 0.0, kLimiterMaximum);
}

ViscosityTerms monotonic_viscosity(const AxisGradient (&axes)[3], double density) {
    double linear = 0.0;
    double quadratic = 0.0;
    for (const AxisGradient& axis : axes) {
        const double phi = limiter(axis);
        const double jump = std::min(axis.delv * axis.delx, 0.0);
        linear += jump * (1.0 - phi);
        quadratic += jump * jump * (1.0 - phi * phi);
    }
    return {-kLinearViscosity * density * linear, kQuadraticViscosity * density * quadratic};
}

void calculate_viscosity(Domain& domain) {
    {
        Gradients gradients(domain.mesh.element_count);
        calculate_gradients(domain, gradients);
        for (const std::vector<Index>& region : domain.regions.elements) {
            if (!region.empty()) {
                calculate_region_viscosity(domain, gradients, region);
            }
        }
    }
    const std::vector<double>& q = domain.elements.q;
    if (std::any_of(q.begin(), q.end(), [](double value) { return value > kViscosityStop; })) {
        throw Breakdown("an artificial viscosity is above qstop (1e12)");
    }
}

}  // namespace pinstudy::lulesh
