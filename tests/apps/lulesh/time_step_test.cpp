// The rule for the length of the next step.
#include "apps/lulesh/solver.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "apps/lulesh/domain.hpp"

namespace pinstudy::lulesh {
namespace {

// A clock in the middle of a run, far from its end.
Clock running(double dt, double dtcourant, double dthydro) {
    return {.cycle = 7, .time = 1e-3, .dt = dt, .dtcourant = dtcourant, .dthydro = dthydro};
}

double next_dt(const Clock& clock) {
    return next_cycle(clock).dt;
}

TEST(TimeStep, StartsByTheEnergyAtTheOrigin) {
    const double volume = std::pow(1.125 / 5, 3);
    const Clock clock = clock_at_start(volume, 5.416661179698216e+04);
    EXPECT_NEAR(clock.dt, 3.417997095087096e-04, 1e-18);
    EXPECT_EQ(next_cycle(clock).dt, clock.dt) << "the first cycle takes it as it is";
    EXPECT_EQ(next_cycle(clock).cycle, 1);
}

TEST(TimeStep, IsHalfTheCourantLimit) {
    EXPECT_DOUBLE_EQ(next_dt(running(1e-5, 1.6e-5, 1.0)), 0.8e-5);
}

TEST(TimeStep, IsTwoThirdsOfTheVolumeLimit) {
    EXPECT_DOUBLE_EQ(next_dt(running(1e-5, 1.0, 1.2e-5)), 0.8e-5);
}

TEST(TimeStep, ComparesTheUnscaledVolumeLimit) {
    // Half the Courant limit is 0.9e-5. A volume limit of 1e-5 would allow 0.67e-5, but is above.
    EXPECT_DOUBLE_EQ(next_dt(running(1e-5, 1.8e-5, 1e-5)), 0.9e-5);
    EXPECT_DOUBLE_EQ(next_dt(running(1e-5, 1.8e-5, 0.89e-5)), 0.89e-5 * 2 / 3);
}

TEST(TimeStep, IsKeptIfItCouldGrowByLessThanATenth) {
    EXPECT_EQ(next_dt(running(1e-5, 2.0e-5, 1.0)), 1e-5);
    EXPECT_EQ(next_dt(running(1e-5, 2.19e-5, 1.0)), 1e-5);
    EXPECT_DOUBLE_EQ(next_dt(running(1e-5, 2.3e-5, 1.0)), 1.15e-5);
}

TEST(TimeStep, GrowsByAFifthAtMost) {
    EXPECT_DOUBLE_EQ(next_dt(running(1e-5, 9e-5, 1.0)), 1.2e-5);
    EXPECT_DOUBLE_EQ(next_dt(running(1e-5, 1e20, 1e20)), 1.2e-5) << "also without any limit";
}

TEST(TimeStep, ShrinksWithoutLimit) {
    EXPECT_DOUBLE_EQ(next_dt(running(1e-5, 1e-9, 1.0)), 0.5e-9);
}

TEST(TimeStep, LeavesNoTinyStepForTheEnd) {
    Clock clock = running(1e-5, 1.8e-5, 1.0);  // allows 0.9e-5
    clock.time = 1e-2 - 1.1e-5;                // between dt and 4/3 dt
    EXPECT_DOUBLE_EQ(next_dt(clock), 0.6e-5);
    clock.time = 1e-2 - 1.3e-5;  // above 4/3 dt
    EXPECT_DOUBLE_EQ(next_dt(clock), 0.9e-5);
}

TEST(TimeStep, EndsAtTheStopTime) {
    Clock clock = running(1e-5, 1.8e-5, 1.0);
    clock.time = 1e-2 - 0.5e-5;
    const Clock last = next_cycle(clock);
    EXPECT_NEAR(last.dt, 0.5e-5, 1e-17);
    EXPECT_EQ(last.time, 1e-2);
}

class TimeConstraints : public ::testing::Test {
  protected:
    // An element with this rate of its volume, size and sound speed.
    void set(Index element, double vdov, double length, double sound) {
        domain_.elements.vdov[element] = vdov;
        domain_.elements.arealg[element] = length;
        domain_.elements.ss[element] = sound;
    }

    Domain domain_{3, {}, 1};
};

TEST_F(TimeConstraints, AreNoneWhereNoVolumeChanges) {
    calculate_time_constraints(domain_);
    EXPECT_EQ(domain_.clock.dtcourant, 1e20);
    EXPECT_EQ(domain_.clock.dthydro, 1e20);
}

TEST_F(TimeConstraints, TakeTheElementThatSoundCrossesFirst) {
    set(3, 5.0, 0.3, 100.0);
    set(20, 1.0, 0.2, 100.0);
    calculate_time_constraints(domain_);
    EXPECT_DOUBLE_EQ(domain_.clock.dtcourant, 0.2 / 100.0);
    EXPECT_DOUBLE_EQ(domain_.clock.dthydro, 0.1 / 5.0);
}

TEST_F(TimeConstraints, CountTheViscosityOfACompressionAsStiffness) {
    set(13, -500.0, 0.5, 100.0);
    calculate_time_constraints(domain_);
    EXPECT_DOUBLE_EQ(domain_.clock.dtcourant, 0.5 / std::sqrt(1e4 + 256.0 * 0.25 * 500.0 * 500.0));
    EXPECT_DOUBLE_EQ(domain_.clock.dthydro, 0.1 / 500.0);
}

}  // namespace
}  // namespace pinstudy::lulesh
