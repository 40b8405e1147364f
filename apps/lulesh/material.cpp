#include "apps/lulesh/material.hpp"

#include <algorithm>
#include <limits>

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/eos.hpp"

namespace pinstudy::lulesh {
namespace {

inline Real gather(const Array<double>& field, const Index* elements) {
    double lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = field[static_cast<std::size_t>(elements[lane])];
    }
    return load(lanes);
}

inline void scatter(Array<double>& field, const Index* elements, Real value) {
    for (int lane = 0; lane < kLanes; ++lane) {
        field[static_cast<std::size_t>(elements[lane])] = value[lane];
    }
}

inline Real gather_neighbours(const Array<double>& field, const Index* neighbours,
                              const Index* elements) {
    double lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = field[static_cast<std::size_t>(neighbours[elements[lane]])];
    }
    return load(lanes);
}

// Makes the compiler believe that `input` may have changed and that `result` is read, without an
// instruction: so each repetition of a computation between the two is carried out, although it
// yields what the one before did.
template <class Input>
inline void renew(Input& input) {
    asm volatile("" : "+m"(input));
}
template <class Result>
inline void consume(const Result& result) {
    asm volatile("" : : "m"(result));
}

inline EosResult repeated_equation_of_state(EosInput input, std::int64_t repetitions) {
    EosResult result{};
    for (std::int64_t i = 0; i < repetitions; ++i) {
        renew(input);
        result = equation_of_state(input);
        consume(result);
    }
    return result;
}

struct ConstraintLanes {
    Real courant, volume_rate, viscosity;
};

inline void constrain(ConstraintLanes& lanes, Real length, Real vdov, Real ss) {
    constexpr double kViscous = 64.0 * kCourantViscosity * kCourantViscosity;
    const Real square = ss * ss;
    const Real viscous = square + kViscous * length * length * vdov * vdov;
    const Real time = length / sqrt(vdov < 0.0 ? viscous : square);
    lanes.courant = vdov != 0.0 ? min(time, lanes.courant) : lanes.courant;
    lanes.volume_rate = max(lanes.volume_rate, abs(vdov));
}

}  // namespace

Constraints tighter(const Constraints& a, const Constraints& b) {
    return {std::min(a.courant, b.courant), std::max(a.volume_rate, b.volume_rate),
            std::max(a.viscosity, b.viscosity)};
}

ArtificialViscosity viscosity_of(const Mesh& mesh, const Fields& fields, const Index* elements) {
    const Fields::Gradients& g = fields.gradients;
    const auto axis = [&](const Array<double>& delv, const Array<double>& delx, Face minus,
                          Face plus) {
        return AxisGradient{gather(delv, elements), gather(delx, elements),
                            gather_neighbours(delv, mesh.neighbours_at(minus), elements),
                            gather_neighbours(delv, mesh.neighbours_at(plus), elements)};
    };
    const AxisGradient axes[3] = {axis(g.delv_xi, g.delx_xi, kXiMinus, kXiPlus),
                                  axis(g.delv_eta, g.delx_eta, kEtaMinus, kEtaPlus),
                                  axis(g.delv_zeta, g.delx_zeta, kZetaMinus, kZetaPlus)};
    return monotonic_viscosity(axes, gather(fields.v, elements), gather(fields.vdov, elements));
}

Constraints update_material(const Mesh& mesh, Fields& fields, const RegionLists& lists,
                            const WorkItem& item) {
    ConstraintLanes limits{splat(kUnconstrained.courant), splat(kUnconstrained.volume_rate),
                           splat(kUnconstrained.viscosity)};
    for (std::size_t i = item.begin; i < item.end; i += kLanes) {
        const Index* const elements = &lists.elements[i];
        const ArtificialViscosity viscosity = viscosity_of(mesh, fields, elements);
        const Real v = gather(fields.v, elements);
        const EosInput input{gather(fields.e, elements),
                             gather(fields.p, elements),
                             gather(fields.q, elements),
                             v,
                             gather(fields.delv, elements),
                             viscosity.linear,
                             viscosity.quadratic};
        const EosResult result = repeated_equation_of_state(input, item.repetitions);
        scatter(fields.e, elements, result.e);
        scatter(fields.p, elements, result.p);
        scatter(fields.q, elements, result.q);
        scatter(fields.ss, elements, result.ss);
        scatter(fields.v, elements, abs(v - 1.0) < kVolumeCut ? splat(1.0) : v);
        limits.viscosity = max(limits.viscosity, input.q);
        constrain(limits, gather(fields.arealg, elements), gather(fields.vdov, elements),
                  result.ss);
    }
    return {lowest(limits.courant), highest(limits.volume_rate), highest(limits.viscosity)};
}

}  // namespace pinstudy::lulesh
