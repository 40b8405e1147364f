// What the check of a result accepts and refuses.
#include "apps/lulesh/verification.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "apps/lulesh/solver.hpp"

namespace pinstudy::lulesh {
namespace {

Summary good() {
    Summary summary;
    summary.edge = 5;
    summary.cycles = 72;
    summary.complete = true;
    summary.origin_energy = 7.853665102145845e+03;
    return summary;
}

void expect_failure(const Summary& summary, const std::string& words) {
    const Verdict verdict = check(summary);
    EXPECT_FALSE(verdict.passed);
    EXPECT_NE(verdict.reason.find(words), std::string::npos) << verdict.reason;
}

TEST(Symmetry, ComparesMirroredElements) {
    const std::vector<double> energies{9.0, 1.0, 2.0,  //
                                       1.5, 8.0, 4.0,  //
                                       2.0, 3.0, 7.0};
    const Symmetry symmetry = symmetry_of_origin_plane(energies, 3);
    EXPECT_DOUBLE_EQ(symmetry.largest, 1.0);
    EXPECT_DOUBLE_EQ(symmetry.total, 1.5);
    EXPECT_DOUBLE_EQ(symmetry.largest_relative, 0.5 / 1.5);
}

TEST(Symmetry, TakesNoQuotientOfZeros) {
    const std::vector<double> energies{1.0, 0.0, 0.0, 1.0};
    EXPECT_EQ(symmetry_of_origin_plane(energies, 2).largest_relative, 0.0);
}

TEST(Check, PassesAPublishedResult) {
    const Verdict verdict = check(good());
    EXPECT_TRUE(verdict.passed);
    EXPECT_NE(verdict.reason.find("72 cycles and origin energy 7.853665e+03"), std::string::npos);
}

TEST(Check, RefusesAnotherNumberOfCycles) {
    Summary summary = good();
    summary.cycles = 73;
    expect_failure(summary, "expected 72 cycles");
}

TEST(Check, RefusesAnEnergyThatDiffersInTheLastPrintedDigit) {
    Summary summary = good();
    summary.origin_energy = 7.853666e+03;
    expect_failure(summary, "expected 72 cycles and origin energy 7.853665e+03");
}

TEST(Check, RefusesAsymmetryAndNoNumbersAndVolumesThatAreNone) {
    Summary summary = good();
    summary.symmetry.largest_relative = 1e-7;
    expect_failure(summary, "asymmetry");
    summary.symmetry.largest_relative = std::numeric_limits<double>::quiet_NaN();
    expect_failure(summary, "asymmetry");
    summary = good();
    summary.finite = false;
    expect_failure(summary, "infinite");
    summary = good();
    summary.lowest_volume = 0.0;
    expect_failure(summary, "volume");
    summary.lowest_volume = std::numeric_limits<double>::quiet_NaN();
    expect_failure(summary, "volume");
}

TEST(Check, HasNoReferenceForOtherSizesAndEarlierTimes) {
    Summary summary = good();
    summary.complete = false;
    summary.cycles = 10;
    EXPECT_TRUE(check(summary).passed);
    summary = good();
    summary.edge = 6;
    EXPECT_TRUE(check(summary).passed);
    EXPECT_NE(check(summary).reason.find("no reference for this size"), std::string::npos);
}

TEST(Summary, NoticesWhatIsNoNumber) {
    Domain domain(3, {}, 1);
    run(domain, 2);
    EXPECT_TRUE(summarise(domain).finite);
    domain.elements.p[7] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(summarise(domain).finite);
}

}  // namespace
}  // namespace pinstudy::lulesh
