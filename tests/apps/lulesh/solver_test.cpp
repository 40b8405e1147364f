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
    expect_published({10, kToTheEnd, 231, "2.720531e+04"});
    expect_published({15, kToTheEnd, 400, "5.702894e+04"});
}

TEST(Solver, StopsAfterTheCyclesAskedFor) {
    expect_published({10, 10, 10, "2.596764e+05"});
    expect_published({20, 100, 100, "3.919028e+05"});
}

TEST(Solver, GoesOnWhereItStopped) {
    Domain domain(5, {});
    run(domain, 30);
    EXPECT_EQ(domain.clock.cycle, 30);
    run(domain, kToTheEnd);
    EXPECT_EQ(domain.clock.cycle, 72);
    EXPECT_EQ(as_printed(domain.fields.e[0]), "7.853665e+03");
}

// All fields of a state.
std::vector<double> everything(const Domain& domain) {
    const Fields& f = domain.fields;
    const auto elements = static_cast<std::size_t>(domain.mesh.elements);
    std::vector<double> values{domain.clock.time, domain.clock.dt, domain.clock.dtcourant,
                               domain.clock.dthydro};
    for (const Array<double>* field :
         {&f.v, &f.delv, &f.vdov, &f.arealg, &f.e, &f.p, &f.q, &f.ss}) {
        values.insert(values.end(), field->data(), field->data() + elements);
    }
    for (const Array<double>* field : {&f.x, &f.u, &f.mass}) {
        values.insert(values.end(), field->data(), field->data() + field->size());
    }
    return values;
}

std::vector<double> after(Index edge, std::int64_t cycles, const RegionOptions& options = {}) {
    Domain domain(edge, options);
    run(domain, cycles);
    return everything(domain);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

TEST(Solver, YieldsTheSameBitsForEveryTeamAndSchedule) {
    // 7 and 10 are no multiples of a block; 3 has fewer blocks than some teams have threads.
    for (const Index edge : {3, 7, 10}) {
        std::vector<double> first;
        testing::for_every_team_and_schedule([&](const std::string& how) {
            const std::vector<double> values = after(edge, 25);
            if (first.empty()) {
                first = values;
            }
            EXPECT_TRUE(same_bits(values, first)) << "edge " << edge << ", " << how;
        });
    }
}

TEST(Solver, YieldsTheSameBitsForAllRegions) {
    const std::vector<double> expected = after(8, kToTheEnd);
    for (const std::int64_t regions : {1, 2, 5, 11, 20}) {
        for (const std::int64_t balance : {0, 1, 2}) {
            for (const std::int64_t cost : {0, 1, 4}) {
                EXPECT_TRUE(same_bits(after(8, kToTheEnd, {regions, balance, cost}), expected))
                    << regions << " regions, balance " << balance << ", cost " << cost;
            }
        }
    }
}

TEST(Solver, ShowsEveryCycleOnce) {
    Domain domain(4, {});
    std::vector<std::int64_t> cycles;
    run(domain, 5, [&cycles](const Domain&, const Clock& clock) { cycles.push_back(clock.cycle); });
    EXPECT_EQ(cycles, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST(Solver, GivesUpWhenAnElementTurnsInsideOut) {
    Domain domain(4, {});
    domain.fields.u[0] = 1.0e+6;  // the node at the origin passes through the mesh in one step
    EXPECT_EQ(run(domain, kToTheEnd), Outcome::kNegativeVolume);
    EXPECT_EQ(domain.clock.cycle, 1);
}

TEST(Solver, GivesUpWhenTheViscosityIsOutOfBounds) {
    Domain domain(4, {});
    domain.fields.q[0] = 1.1e+12;
    domain.clock.dt = 1.0e-20;  // nothing moves far
    EXPECT_EQ(run(domain, 1), Outcome::kViscosityOutOfBounds);
}

#ifdef _OPENMP
TEST(Solver, WorksWithATeamSmallerThanAskedFor) {
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
