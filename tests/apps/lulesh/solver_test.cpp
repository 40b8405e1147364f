// Whole runs: published results, and the same bits however the work is shared.
#include "apps/lulesh/solver.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/apps/common/openmp.hpp"
#include "tests/apps/lulesh/published.hpp"

namespace pinstudy::lulesh {
namespace {

constexpr std::int64_t kToTheEnd = 9999999;

TEST(Solver, ReachesThePublishedResults) {
    expect_published({1, kToTheEnd, 1, "4.333329e+02"});
    expect_published({2, kToTheEnd, 5, "2.746125e+03"});
    expect_published({5, kToTheEnd, 72, "7.853665e+03"});
    expect_published({8, kToTheEnd, 163, "1.788182e+04"});
}

TEST(Solver, StopsAfterTheCyclesAskedFor) {
    expect_published({10, 10, 10, "2.596764e+05"});
}

TEST(Solver, GoesOnWhereItStopped) {
    Domain domain(5, {}, max_threads());
    run(domain, 30);
    EXPECT_EQ(domain.clock.cycle, 30);
    run(domain, kToTheEnd);
    EXPECT_EQ(domain.clock.cycle, 72);
    EXPECT_EQ(as_printed(domain.elements.e[0]), "7.853665e+03");
}

// All fields of a state.
std::vector<double> everything(const Domain& domain) {
    const Elements& e = domain.elements;
    const Nodes& n = domain.nodes;
    std::vector<double> values{domain.clock.time, domain.clock.dt, domain.clock.dtcourant,
                               domain.clock.dthydro};
    for (const std::vector<double>* field :
         {&e.v, &e.delv, &e.vdov, &e.arealg, &e.e,  &e.p,  &e.q,  &e.ql, &e.qq, &e.ss,
          &n.x, &n.y,    &n.z,    &n.xd,     &n.yd, &n.zd, &n.fx, &n.fy, &n.fz, &n.mass}) {
        values.insert(values.end(), field->begin(), field->end());
    }
    return values;
}

std::vector<double> after(Index edge, std::int64_t cycles, const RegionOptions& options = {}) {
    Domain domain(edge, options, max_threads());
    run(domain, cycles);
    return everything(domain);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// One thread adds the forces of stress and hourglass control in another order than a team does, and
// so has sums of its own.
TEST(Solver, YieldsTheSameBitsForEverySchedule) {
    for (const Index edge : {3, 7}) {
        std::vector<double> alone;
        std::vector<double> in_a_team;
        testing::for_every_team_and_schedule([&](const std::string& how) {
            std::vector<double>& first = max_threads() == 1 ? alone : in_a_team;
            const std::vector<double> values = after(edge, 8);
            if (first.empty()) {
                first = values;
            }
            EXPECT_TRUE(same_bits(values, first)) << "edge " << edge << ", " << how;
        });
    }
}

TEST(Solver, YieldsTheSameBitsForAllRegions) {
    const std::vector<double> expected = after(8, 5);
    for (const std::int64_t regions : {1, 2, 5, 11, 20}) {
        for (const std::int64_t balance : {0, 1, 2}) {
            for (const std::int64_t cost : {0, 1, 4}) {
                EXPECT_TRUE(same_bits(after(8, 5, {regions, balance, cost}), expected))
                    << regions << " regions, balance " << balance << ", cost " << cost;
            }
        }
    }
}

TEST(Solver, ShowsEveryCycleOnce) {
    Domain domain(4, {}, 1);
    std::vector<std::int64_t> cycles;
    run(domain, 5, [&cycles](const Domain& shown) { cycles.push_back(shown.clock.cycle); });
    EXPECT_EQ(cycles, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST(Solver, GivesUpWhenAnElementTurnsInsideOut) {
    Domain domain(4, {}, 1);
    domain.nodes.xd[0] = 1.0e+6;  // the node at the origin passes through the mesh in one step
    EXPECT_THROW(run(domain, kToTheEnd), Breakdown);
    EXPECT_EQ(domain.clock.cycle, 1);
}

TEST(Solver, GivesUpWhenTheViscosityIsOutOfBounds) {
    Domain domain(4, {}, 1);
    domain.elements.q[0] = 1.1e+12;
    domain.clock.dt = 1.0e-20;  // nothing moves far
    EXPECT_THROW(run(domain, 1), Breakdown);
}

#ifdef _OPENMP
TEST(Solver, WorksWithATeamSmallerThanAskedFor) {
    omp_set_num_threads(2);
    const std::vector<double> expected = after(5, 20);
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(1);  // with more threads than CPUs the runtime may give fewer
    omp_set_num_threads(64);
    EXPECT_TRUE(same_bits(after(5, 20), expected));
    omp_set_dynamic(dynamic);
    omp_set_num_threads(omp_get_num_procs());
}
#endif

}  // namespace
}  // namespace pinstudy::lulesh
