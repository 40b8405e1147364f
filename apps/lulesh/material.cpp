#include "apps/lulesh/material.hpp"

#include <algorithm>

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/eos.hpp"

namespace pinstudy::lulesh {
namespace {

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

ArtificialViscosity viscosity_of(const Mesh& mesh, const Fields& fields,
                                 const ElementGroup& group) {
    const Fields::Gradients& g = fields.gradients;
    const auto axis = [&](const Array<double>& delv, const Array<double>& delx, Face minus,
                          Face plus) {
        return AxisGradient{group.gather(delv), group.gather(delx),
                            group.gather_through(mesh.neighbours_at(minus), delv),
                            group.gather_through(mesh.neighbours_at(plus), delv)};
    };
    const AxisGradient axes[3] = {axis(g.delv_xi, g.delx_xi, kXiMinus, kXiPlus),
                                  axis(g.delv_eta, g.delx_eta, kEtaMinus, kEtaPlus),
                                  axis(g.delv_zeta, g.delx_zeta, kZetaMinus, kZetaPlus)};
    return monotonic_viscosity(axes, group.gather(fields.v), group.gather(fields.vdov));
}

void update_material(const Mesh& mesh, Fields& fields, const RegionLists& lists,
                     const WorkItem& item, ConstraintLanes& limits) {
    for (std::size_t i = item.begin; i < item.end; i += kLanes) {
        const ElementGroup group(&lists.elements[i]);
        const ArtificialViscosity viscosity = viscosity_of(mesh, fields, group);
        const Real v = group.gather(fields.v);
        const EosInput input{
            group.gather(fields.e),    group.gather(fields.p), group.gather(fields.q), v,
            group.gather(fields.delv), viscosity.linear,       viscosity.quadratic};
        const EosResult result = repeated_equation_of_state(input, item.repetitions);
        group.scatter(fields.e, result.e);
        group.scatter(fields.p, result.p);
        group.scatter(fields.q, result.q);
        group.scatter(fields.ss, result.ss);
        group.scatter(fields.v, abs(v - 1.0) < kVolumeCut ? splat(1.0) : v);
        limits.viscosity = max(limits.viscosity, input.q);
        constrain(limits, group.gather(fields.arealg), group.gather(fields.vdov), result.ss);
    }
}

}  // namespace pinstudy::lulesh
