// Gaussian elimination without pivoting.
#pragma once

#include "apps/lu/matrix.hpp"

namespace pinstudy::lu {

// Rows are dealt out one by one in turn: those further down have as much work as those above.
inline constexpr int kRowsAtATime = 1;

// Reduces `factors.m` to its factors: for each column k, every row below k loses its multiple of
// row k. The team is formed anew in each step. Every element goes through the same operations in
// the same order, so that the result is the same to the last bit for every number of threads and
// every schedule.
void eliminate(Factors& factors);

}  // namespace pinstudy::lu
