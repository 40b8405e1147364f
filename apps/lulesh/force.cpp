#include "apps/lulesh/force.hpp"

#include <cmath>

#include "apps/common/parallel_loop.hpp"
#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/kinematics.hpp"
#include "apps/lulesh/temporary.hpp"

namespace pinstudy::lulesh {
namespace {

void zero_forces(Nodes& nodes, Index count) {
    parallel_loop(0, count, [&](Index node) { nodes.set_force(node, {}); });
}

// The diagonal of the stress tensor of each element. In a gas its three entries are one number; a
// solid would have three.
struct Stress {
    explicit Stress(Index elements)
        : xx(temporary(elements)), yy(temporary(elements)), zz(temporary(elements)) {}
    Temporary xx, yy, zz;
};

void initialise_stress(const Elements& elements, Index count, Stress& stress) {
    parallel_loop(0, count, [&](Index i) {
        stress.xx[i] = stress.yy[i] = stress.zz[i] = -elements.p[i] - elements.q[i];
    });
}

// Adds to each node the forces on its corners, in the order of the elements, or puts them in place
// of the force that was there.
enum class Force { kReplace, kAdd };

void sum_at_nodes(Domain& domain, const CornerTemporary& forces, Force how) {
    const Mesh& mesh = domain.mesh;
    parallel_loop(0, mesh.node_count, [&](Index node) {
        Vec3 sum;
        for (Index i = mesh.first_corner[node]; i < mesh.first_corner[node + 1]; ++i) {
            sum += forces.at(mesh.node_corners[i]);
        }
        if (how == Force::kReplace) {
            domain.nodes.set_force(node, sum);
        } else {
            domain.nodes.add_force(node, sum);
        }
    });
}

// Calls force_of(element), which yields the force on each corner, for all elements, and brings the
// forces to the nodes. One thread adds them at once. Several would collide at shared nodes: they
// keep the forces of each corner, and every node then collects its own.
template <class ForceOf>
void distribute_forces(Domain& domain, Force how, const ForceOf& force_of) {
    const Mesh& mesh = domain.mesh;
    if (mesh.node_corners.empty()) {
#pragma omp parallel num_threads(1)
        share_loop(0, mesh.element_count, [&](Index element) {
            const Corners force = force_of(element);
            for (int corner = 0; corner < kCorners; ++corner) {
                domain.nodes.add_force(mesh.element_nodes[element][corner], force[corner]);
            }
        });
        return;
    }
    CornerTemporary forces(mesh.element_count);
    parallel_loop(0, mesh.element_count,
                  [&](Index element) { forces.set(element, force_of(element)); });
    sum_at_nodes(domain, forces, how);
}

void integrate_stress(Domain& domain, const Stress& stress, Temporary& determinant) {
    distribute_forces(domain, Force::kReplace, [&](Index element) {
        const Corners x = domain.positions(element);
        determinant[element] = shape_derivatives(x).determinant;
        Corners force = corner_areas(x);
        for (int i = 0; i < kCorners; ++i) {
            force.x[i] *= -stress.xx[element];
            force.y[i] *= -stress.yy[element];
            force.z[i] *= -stress.zz[element];
        }
        return force;
    });
}

void require_positive(const Temporary& volume, Index count) {
    VolumeCheck check;
    parallel_loop(0, count, [&](Index i) { check.look_at(volume[i]); });
    check.require_positive();
}

// What the hourglass forces need of every element, written down by one loop and read by the next.
struct HourglassTerms {
    explicit HourglassTerms(Index elements) : derivatives(elements), positions(elements) {}
    CornerTemporary derivatives;  // of the volume
    CornerTemporary positions;    // of the corners
};

void calculate_volume_derivatives(const Domain& domain, HourglassTerms& terms, Temporary& volume) {
    const Elements& elements = domain.elements;
    VolumeCheck check;
    parallel_loop(0, domain.mesh.element_count, [&](Index element) {
        const Corners x = domain.positions(element);
        terms.derivatives.set(element, volume_derivatives(x));
        terms.positions.set(element, x);
        volume[element] = elements.volo[element] * elements.v[element];
        check.look_at(elements.v[element]);
    });
    check.require_positive();
}

void add_hourglass_forces(Domain& domain, const HourglassTerms& terms, const Temporary& volume) {
    const Elements& elements = domain.elements;
    distribute_forces(domain, Force::kAdd, [&](Index element) {
        const double coefficient = -kHourglass * elements.ss[element] * elements.mass[element] /
                                   std::cbrt(volume[element]);
        return hourglass_forces(terms.positions.of_element(element), domain.velocities(element),
                                terms.derivatives.of_element(element), volume[element],
                                coefficient);
    });
}

void control_hourglass(Domain& domain, Temporary& volume) {
    HourglassTerms terms(domain.mesh.element_count);
    calculate_volume_derivatives(domain, terms, volume);
    add_hourglass_forces(domain, terms, volume);
}

// Adds a quarter of the area vector of the face a, b, c, d to each of its corners.
inline void add_face(Corners& area, const Corners& x, int a, int b, int c, int d) {
    const Vec3 along = 0.5 * (x[d] + x[c] - x[b] - x[a]);
    const Vec3 across = 0.5 * (x[c] + x[b] - x[d] - x[a]);
    const Vec3 quarter = 0.25 * cross(along, across);
    for (const int corner : {a, b, c, d}) {
        area.add(corner, quarter);
    }
}

// Twelve times the derivative of the volume by the position of one corner, of which a, b, c, d, e
// and f are the neighbours.
inline Vec3 volume_derivative(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d,
                              const Vec3& e, const Vec3& f) {
    return 1.0 / 12.0 * (cross(b + c, a + b) + cross(a + e, d + e) - cross(c + f, d + f));
}

// The sign with which each corner takes part in the four hourglass modes.
constexpr int kModeCount = 4;
constexpr double kModes[kModeCount][kCorners] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                                 {1, -1, -1, 1, -1, 1, 1, -1},
                                                 {1, -1, 1, -1, 1, -1, 1, -1},
                                                 {-1, 1, -1, 1, 1, -1, 1, -1}};

}  // namespace

Corners corner_areas(const Corners& x) {
    Corners area;
    add_face(area, x, 0, 1, 2, 3);
    add_face(area, x, 0, 4, 5, 1);
    add_face(area, x, 1, 5, 6, 2);
    add_face(area, x, 2, 6, 7, 3);
    add_face(area, x, 3, 7, 4, 0);
    add_face(area, x, 4, 7, 6, 5);
    return area;
}

Corners volume_derivatives(const Corners& x) {
    Corners derivatives;
    derivatives.set(0, volume_derivative(x[1], x[2], x[3], x[4], x[5], x[7]));
    derivatives.set(1, volume_derivative(x[2], x[3], x[0], x[5], x[6], x[4]));
    derivatives.set(2, volume_derivative(x[3], x[0], x[1], x[6], x[7], x[5]));
    derivatives.set(3, volume_derivative(x[0], x[1], x[2], x[7], x[4], x[6]));
    derivatives.set(4, volume_derivative(x[7], x[6], x[5], x[0], x[3], x[1]));
    derivatives.set(5, volume_derivative(x[4], x[7], x[6], x[1], x[0], x[2]));
    derivatives.set(6, volume_derivative(x[5], x[4], x[7], x[2], x[1], x[3]));
    derivatives.set(7, volume_derivative(x[6], x[5], x[4], x[3], x[2], x[0]));
    return derivatives;
}

Corners hourglass_forces(const Corners& x, const Corners& u, const Corners& volume_derivatives,
                         double volume, double coefficient) {
    // Each mode without its part of uniform strain, and how fast the corners move along it.
    double gamma[kModeCount][kCorners];
    Vec3 velocity[kModeCount];
    for (int mode = 0; mode < kModeCount; ++mode) {
        Vec3 shape;
        for (int i = 0; i < kCorners; ++i) {
            shape += kModes[mode][i] * x[i];
        }
        shape = 1.0 / volume * shape;
        for (int i = 0; i < kCorners; ++i) {
            gamma[mode][i] = kModes[mode][i] - dot(volume_derivatives[i], shape);
        }
        for (int i = 0; i < kCorners; ++i) {
            velocity[mode] += gamma[mode][i] * u[i];
        }
    }
    Corners force;
    for (int i = 0; i < kCorners; ++i) {
        Vec3 sum;
        for (int mode = 0; mode < kModeCount; ++mode) {
            sum += gamma[mode][i] * velocity[mode];
        }
        force.set(i, coefficient * sum);
    }
    return force;
}

void calculate_forces(Domain& domain) {
    const Index count = domain.mesh.element_count;
    zero_forces(domain.nodes, domain.mesh.node_count);
    Temporary determinant = temporary(count);
    {
        Stress stress(count);
        initialise_stress(domain.elements, count, stress);
        integrate_stress(domain, stress, determinant);
        require_positive(determinant, count);
        control_hourglass(domain, determinant);
    }
}

}  // namespace pinstudy::lulesh
