// The equation of state against its definition, one element at a time.
#include "apps/lulesh/material.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

// The new states of some elements that are a region of their own.
std::vector<State> evaluated(const std::vector<Element>& given, std::int64_t repetitions = 1) {
    const auto count = static_cast<Index>(given.size());
    Elements elements(count);
    Temporary volume = temporary(count);
    std::vector<Index> region;
    for (Index i = 0; i < count; ++i) {
        elements.e[i] = given[i].e;
        elements.p[i] = given[i].p;
        elements.q[i] = given[i].q;
        elements.delv[i] = given[i].delv;
        elements.ql[i] = given[i].ql;
        elements.qq[i] = given[i].qq;
        volume[i] = std::clamp(given[i].v, 1e-9, 1e+9);
        region.push_back(i);
    }
    evaluate_equation_of_state(elements, volume, region, repetitions);
    std::vector<State> states;
    for (Index i = 0; i < count; ++i) {
        states.push_back({elements.e[i], elements.p[i], elements.q[i], elements.ss[i]});
    }
    return states;
}

void expect_as_defined(const Element& in) {
    const State result = evaluated({in})[0];
    const State expected = Definition(in).state();
    const auto close = [](double found, double value) {
        return std::abs(found - value) <= 1e-12 * std::abs(value);
    };
    EXPECT_PRED2(close, result.e, expected.e);
    EXPECT_PRED2(close, result.p, expected.p);
    EXPECT_PRED2(close, result.q, expected.q);
    EXPECT_PRED2(close, result.ss, expected.ss);
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
    const State result = evaluated({{0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0}})[0];
    EXPECT_EQ(result.e, 0.0);
    EXPECT_EQ(result.p, 0.0);
    EXPECT_EQ(result.q, 0.0);
    EXPECT_EQ(result.ss, 3.333333e-19);
}

TEST(EquationOfState, TreatsEachElementOfARegionByItself) {
    const Element contracts{100.0, 70.0, 3.0, 0.9, -0.05, 1.5, 8.0};
    Element expands = contracts;
    expands.delv = 0.05;
    const std::vector<State> together = evaluated({contracts, expands, contracts});
    EXPECT_EQ(together[0].e, evaluated({contracts})[0].e);
    EXPECT_EQ(together[2].q, together[0].q);
    EXPECT_EQ(together[1].q, 0.0);
}

TEST(EquationOfState, IsTheSameHoweverOftenItIsEvaluated) {
    const Element element{100.0, 70.0, 3.0, 0.9, -0.05, 1.5, 8.0};
    const State once = evaluated({element})[0];
    const State often = evaluated({element}, 20)[0];
    EXPECT_EQ(often.e, once.e);
    EXPECT_EQ(often.p, once.p);
    EXPECT_EQ(often.q, once.q);
    EXPECT_EQ(often.ss, once.ss);
}

TEST(EquationOfState, LeavesTheElementsOfOtherRegionsAlone) {
    Elements elements(3);
    elements.e = {100.0, 200.0, 300.0};
    elements.delv = {-0.05, -0.05, -0.05};
    Temporary volume = temporary(3);
    std::fill_n(volume.get(), 3, 0.95);
    evaluate_equation_of_state(elements, volume, {1}, 2);
    EXPECT_EQ(elements.e[0], 100.0);
    EXPECT_NE(elements.p[1], 0.0);
    EXPECT_EQ(elements.e[2], 300.0);
}

}  // namespace
}  // namespace pinstudy::lulesh
