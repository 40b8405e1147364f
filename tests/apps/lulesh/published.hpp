// Results of LULESH 2.0 (LLNL-TR-641973, section 4.3; sizes it does not list, and runs that are cut
// short, by runs of the original).
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "apps/common/openmp.hpp"
#include "apps/common/program.hpp"
#include "apps/lulesh/solver.hpp"
#include "apps/lulesh/verification.hpp"

namespace pinstudy::lulesh {

struct Published {
    Index edge;
    std::int64_t last_cycle;
    std::int64_t cycles;
    const char* origin_energy;
};

inline std::string as_printed(double energy) {
    return printed("%.6e", energy);
}

inline void expect_published(const Published& published, const RegionOptions& options = {}) {
    Domain domain(published.edge, options, max_threads());
    run(domain, published.last_cycle);
    EXPECT_EQ(domain.clock.cycle, published.cycles);
    EXPECT_EQ(as_printed(domain.elements.e[0]), published.origin_energy);
    const Verdict verdict = check(summarise(domain));
    EXPECT_TRUE(verdict.passed) << verdict.reason;
}

}  // namespace pinstudy::lulesh
