// The first cycles, value by value, against those of LULESH 2.0 with 5 elements on an edge.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "apps/lulesh/solver.hpp"

namespace pinstudy::lulesh {
namespace {

using Values = std::map<std::string, double>;

// The values by name, a map a cycle; cycle c is at c - 1. Forces are summed as a team sums them.
std::vector<Values> trace(Index edge) {
    std::vector<Values> cycles;
    Domain domain(edge, {}, 2);
    run(domain, 72, [&cycles](const Domain& now) {
        const Elements& element = now.elements;
        const Nodes& node = now.nodes;
        cycles.push_back({{"time", now.clock.time},
                          {"dt", now.clock.dt},
                          {"dtcourant", now.clock.dtcourant},
                          {"dthydro", now.clock.dthydro},
                          {"e[0]", element.e[0]},
                          {"p[0]", element.p[0]},
                          {"v[0]", element.v[0]},
                          {"ss[0]", element.ss[0]},
                          {"vdov[0]", element.vdov[0]},
                          {"arealg[0]", element.arealg[0]},
                          {"e[1]", element.e[1]},
                          {"p[1]", element.p[1]},
                          {"q[1]", element.q[1]},
                          {"ql[1]", element.ql[1]},
                          {"qq[1]", element.qq[1]},
                          {"e[6]", element.e[6]},
                          {"e[31]", element.e[31]},
                          {"x[43]", node.x[43]},
                          {"xd[43]", node.xd[43]},
                          {"fx[43]", node.fx[43]},
                          {"mass[43]", node.mass[43]}});
    });
    return cycles;
}

// The references come from a build without FMA; rounding differences grow with the cycles.
void expect_near(const Values& found, const Values& expected, double tolerance) {
    for (const auto& [name, value] : expected) {
        ASSERT_TRUE(found.contains(name)) << name;
        EXPECT_NEAR(found.at(name), value, tolerance * std::abs(value)) << name;
    }
}

TEST(Trace, BeginsAsTheOriginal) {
    const auto cycles = trace(5);
    ASSERT_EQ(cycles.size(), 72u);
    expect_near(cycles[0],
                {{"time", 3.417997095087096e-04},
                 {"dt", 3.417997095087096e-04},
                 {"dtcourant", 1e20},
                 {"dthydro", 1e20},
                 {"e[0]", 5.416661179698216e+04},
                 {"e[1]", 0.0},
                 {"q[1]", 0.0}},
                1e-15);
    expect_near(cycles[1],
                {{"time", 7.519593609191611e-04},
                 {"dt", 4.101596514104515e-04},
                 {"dtcourant", 6.627261591386684e-04},
                 {"dthydro", 2.108806301165559e-04},
                 {"e[0]", 4.756335868958499e+04},
                 {"e[1]", 2.184946396805079e+01},
                 {"q[1]", 1.060647718310896e+03},
                 {"p[0]", 2.609049938417110e+04},
                 {"v[0]", 1.215343},
                 {"ss[0]", 2.298873122244051e+02},
                 {"vdov[0]", 4.742019214601596e+02},
                 {"arealg[0]", 2.303337053571429e-01},
                 {"p[1]", 1.495792268587270e+01},
                 {"ql[1]", 1.928337257003201e+01},
                 {"qq[1]", 9.656349152114202e+02},
                 {"e[6]", 7.485017957175838e+00},
                 {"e[31]", 7.054421520679905e-01},
                 {"x[43]", 2.3175e-01},
                 {"xd[43]", 1.645700637980404e+01},
                 {"fx[43]", 4.570307870370369e+02},
                 {"mass[43]", 1.1390625e-02}},
                5e-14);
    expect_near(cycles[2],
                {{"time", 8.925464476635316e-04},
                 {"dt", 1.405870867443706e-04},
                 {"dtcourant", 4.951589952618369e-04},
                 {"dthydro", 1.761016957885122e-04},
                 {"e[0]", 4.508604877095669e+04},
                 {"e[1]", 4.245575087069815e+01},
                 {"q[1]", 1.718768582109353e+03}},
                1e-13);
}

TEST(Trace, GoesOnAndEndsAsTheOriginal) {
    const auto cycles = trace(5);
    ASSERT_EQ(cycles.size(), 72u);
    expect_near(cycles[9],
                {{"time", 1.566588040779171e-03},
                 {"dt", 8.596831504856758e-05},
                 {"dtcourant", 2.465916730266862e-04},
                 {"dthydro", 1.280702200944875e-04},
                 {"e[0]", 3.245955244440122e+04},
                 {"e[1]", 4.608401319660014e+02},
                 {"q[1]", 5.108607152296005e+03}},
                1e-12);
    expect_near(cycles[71],
                {{"time", 1.0e-02},
                 {"dt", 1.193337898438233e-04},
                 {"dtcourant", 3.995116932466670e-04},
                 {"dthydro", 5.109093072112662e-04},
                 {"e[0]", 7.853665102145845e+03},
                 {"e[1]", 9.818272965458864e+02},
                 {"q[1]", 0.0}},
                1e-11);
}

TEST(Trace, TakesTheStepsOfTheOriginal) {
    const std::map<Index, std::vector<double>> steps{
        {5,
         {3.417997e-04, 4.101597e-04, 1.405871e-04, 1.174011e-04, 1.046586e-04, 9.718025e-05,
          9.239337e-05, 8.924197e-05, 8.719797e-05, 8.596832e-05, 1.031620e-04, 1.164752e-04}},
        {10,
         {6.042222e-05, 7.250667e-05, 2.485252e-05, 2.075378e-05, 1.850120e-05, 1.717920e-05,
          1.633299e-05, 1.577590e-05, 1.541457e-05, 1.519719e-05, 1.823663e-05, 2.059010e-05}}};
    for (const auto& [edge, expected] : steps) {
        const auto cycles = trace(edge);
        ASSERT_GE(cycles.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(cycles[i].at("dt"), expected[i], 5.1e-7 * expected[i]) << "cycle " << i + 1;
        }
    }
}

}  // namespace
}  // namespace pinstudy::lulesh
