// Are the factors right? The factors of OmpSCR's matrix are known in closed form.
#pragma once

#include <cstdint>

#include "apps/common/program.hpp"
#include "apps/lu/elimination.hpp"

namespace pinstudy::lu {

// The exact element (i, j): of U on and above the diagonal, of L below it. Elimination of a few
// symbolic rows gives, with i, j from 0 and, for k >= 1,
// c_k = 1 / (1/n + k (k - 1) / (2 (n + 1))):
//     U_0j = 1 + j,  L_i0 = 1 + i n,
//     U_kk = -k ((n + 1) + c_k k),  U_kj = -c_k k j,  L_ik = c_k i / ((n + 1) + c_k k).
double exact_factor(std::int64_t n, std::int64_t i, std::int64_t j);

// The largest relative deviation of an element from the exact one; infinite if one is not a number.
double largest_deviation(const Factors& factors);

// The deviation that rounding explains.
double tolerance(std::int64_t n);

Verdict check(const Factors& factors);

}  // namespace pinstudy::lu
