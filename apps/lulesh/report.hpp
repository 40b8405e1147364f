// What the program prints: the lines of LULESH 2.0, so that whoever reads them reads both.
#pragma once

#include <cstdint>

#include "apps/lulesh/settings.hpp"
#include "apps/lulesh/verification.hpp"

namespace pinstudy::lulesh {

// Before the run. `threads`: as many as a team may have.
void print_header(const Settings& settings, int threads);

// During the run.
void print_cycle(const Clock& clock);

// After the run, but for the check. `seconds` is the wall time of the time loop.
void print_results(const Summary& summary, double seconds);

// Values of the elements and of a node next to the origin, by name, in one line a cycle.
void print_trace(const Domain& domain);

}  // namespace pinstudy::lulesh
