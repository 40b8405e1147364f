// Gaussian elimination without pivoting, in place, and the matrix it starts from.
#pragma once

#include "apps/lu/matrix.hpp"

namespace pinstudy::lu {

// Writes OmpSCR's matrix: 1 on the diagonal, 1 + i n + j elsewhere (i, j from 0). The strips of
// rows are dealt to the threads by schedule(runtime), as in eliminate(), so that with a static
// schedule every thread is the first to touch the rows it will work on.
void fill(Matrix& m);

// Replaces the matrix by its factors: U in the upper triangle with the diagonal, the multipliers L
// (whose diagonal is 1) below it. Returns the number of threads in the team.
//
// Every element goes through the operations of the textbook's loops in the textbook's order,
//     for k: for i > k: l_ik = a_ik / u_kk; for j > k: a_ij -= l_ik u_kj,
// so that the result is the same to the last bit for every number of threads and every schedule.
// Only the grouping differs: kStrip steps k are done on a strip of rows before the next strip is
// taken up, and the rows that will be needed next are finished first, so that the threads meet once
// per kStrip steps.
int eliminate(Matrix& m);

}  // namespace pinstudy::lu
