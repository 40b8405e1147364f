// The equation of state against its definition, one element at a time.
#include "apps/lulesh/eos.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace pinstudy::lulesh {
namespace {

struct Element {
    double e, p, q, v, delv, ql, qq;
};

struct State {
    double e, p, q, ss;
};

// The definition, with compressions as such and every case spelled out.
class Definition {
  public:
    explicit Definition(const Element& element) : in_(element) {
        v_ = std::clamp(in_.v, 1e-9, 1e+9);
        c_ = 1.0 / v_ - 1.0;
        ch_ = 1.0 / (v_ - in_.delv / 2.0) - 1.0;
        if (v_ <= 1e-9) {
            ch_ = c_;
        }
        if (v_ >= 1e+9) {
            in_.p = c_ = ch_ = 0.0;
        }
    }

    State state() const {
        const double sum = in_.p + in_.q;
        const double e1 = std::max(in_.e - in_.delv * sum / 2.0, -1e15);
        const double ph = pressure(e1, ch_);
        const double qh = viscosity(e1, 1.0 / (1.0 + ch_), ch_, ph);
        const double e2 = cut(e1 + in_.delv * (3.0 * sum - 4.0 * (ph + qh)) / 2.0);
        const double p2 = pressure(e2, c_);
        const double qt = viscosity(e2, v_, c_, p2);
        const double e3 = cut(e2 - in_.delv * (7.0 * sum - 8.0 * (ph + qh) + (p2 + qt)) / 6.0);
        const double p3 = pressure(e3, c_);
        const double q3 = viscosity(e3, v_, c_, p3);
        return {e3, p3, std::abs(q3) < 1e-7 ? 0.0 : q3, sound_speed(e3, v_, c_, p3)};
    }

  private:
    static double cut(double e) { return std::max(std::abs(e) < 1e-7 ? 0.0 : e, -1e15); }

    double pressure(double e, double c) const {
        const double p = 2.0 / 3.0 * (c + 1.0) * e;
        return std::abs(p) < 1e-7 || v_ >= 1e9 ? 0.0 : std::max(p, 0.0);
    }
    static double sound_speed(double e, double volume, double c, double p) {
        const double square = 2.0 / 3.0 * e + volume * volume * (2.0 / 3.0 * (c + 1.0)) * p;
        return square <= 1.111111e-37 ? 3.333333e-19 : std::sqrt(square);
    }
    double viscosity(double e, double volume, double c, double p) const {
        return in_.delv > 0.0 ? 0.0 : sound_speed(e, volume, c, p) * in_.ql + in_.qq;
    }

    Element in_;
    double v_, c_, ch_;
};

void expect_as_defined(const Element& in) {
    const EosResult result = equation_of_state({splat(in.e), splat(in.p), splat(in.q), splat(in.v),
                                                splat(in.delv), splat(in.ql), splat(in.qq)});
    const State expected = Definition(in).state();
    const auto close = [](double found, double value) {
        return std::abs(found - value) <= 1e-12 * std::abs(value);
    };
    EXPECT_PRED2(close, result.e[0], expected.e);
    EXPECT_PRED2(close, result.p[0], expected.p);
    EXPECT_PRED2(close, result.q[0], expected.q);
    EXPECT_PRED2(close, result.ss[0], expected.ss);
}

TEST(EquationOfState, FollowsItsDefinitionInCompression) {
    expect_as_defined({100.0, 70.0, 3.0, 0.9, -0.05, 1.5, 8.0});
    expect_as_defined({5e4, 0.0, 0.0, 0.97, -1e-3, 2.0, 900.0});
}

TEST(EquationOfState, FollowsItsDefinitionInExpansion) {
    expect_as_defined({5e4, 3.6e4, 0.0, 1.2153, 0.2153, 0.0, 0.0});
    expect_as_defined({10.0, 5.0, 2.0, 1.5, 0.01, 4.0, 4.0});
}

TEST(EquationOfState, CutsWhatIsTooSmall) {
    expect_as_defined({9e-8, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0});
    expect_as_defined({-9e-8, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0});
    expect_as_defined({1.2e-7, 0.0, 0.0, 1.0, 0.0, 0.0, 9e-8});
    expect_as_defined({-5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0});
}

TEST(EquationOfState, HoldsAtTheLimitsOfVolume) {
    expect_as_defined({1e-3, 2e-3, 1e-3, 5e-10, -0.1, 0.5, 0.5});
    expect_as_defined({1e-3, 2e-3, 1e-3, 2e9, -0.1, 0.5, 0.5});
}

TEST(EquationOfState, LeavesColdGasAtRestAsItIs) {
    const EosResult result =
        equation_of_state({Real{}, Real{}, Real{}, splat(1.0), Real{}, Real{}, Real{}});
    EXPECT_EQ(result.e[0], 0.0);
    EXPECT_EQ(result.p[0], 0.0);
    EXPECT_EQ(result.q[0], 0.0);
    EXPECT_EQ(result.ss[0], 3.333333e-19);
}

TEST(EquationOfState, TreatsEachLaneByItself) {
    EosInput input{splat(100.0), splat(70.0), splat(3.0), splat(0.9),
                   splat(-0.05), splat(1.5),  splat(8.0)};
    const EosResult alone = equation_of_state(input);
    input.delv[kLanes - 1] = 0.05;  // one lane expands, so both branches are taken
    const EosResult together = equation_of_state(input);
    EXPECT_EQ(together.e[0], alone.e[0]);
    EXPECT_EQ(together.q[0], alone.q[0]);
    EXPECT_EQ(together.q[kLanes - 1], 0.0);
}

}  // namespace
}  // namespace pinstudy::lulesh
