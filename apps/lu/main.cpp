// lu: LU reduction of a dense matrix, as OmpSCR's c_lu.
#include <cmath>
#include <cstdio>

#include "apps/common/memory.hpp"
#include "apps/common/ompscr.hpp"
#include "apps/common/openmp.hpp"
#include "apps/common/program.hpp"
#include "apps/common/timer.hpp"
#include "apps/lu/check.hpp"
#include "apps/lu/elimination.hpp"
#include "include/pinstudy.h"

namespace pinstudy::lu {
namespace {

int run(int argc, char** argv) {
    const SizeArgument argument{"size", "Rows and columns of the matrix", 1000000, 500};
    Options options(
        "lu",
        "Reduces a dense matrix to its factors L and U, without pivoting; threads and "
        "schedule are taken from OMP_NUM_THREADS and OMP_SCHEDULE (default: static,1).");
    std::int64_t size = 0;
    if (const auto exit_status = parse_size(options, argument, size, argc, argv)) {
        return *exit_status;
    }
    if (const std::string reason = why_too_large("size", memory_bytes(size)); !reason.empty()) {
        return options.user_error(reason);
    }

    default_to_static_schedule(kRowsAtATime);
    print_header(argv[0], "LU reduction of a dense matrix.", argument, size, max_threads());
    pinstudy_begin("fill");
    Factors factors(size);
    pinstudy_end("fill");
    pinstudy_begin("eliminate");
    const Timer timer;
    eliminate(factors);
    const double seconds = timer.seconds();
    pinstudy_end("eliminate");
    print_timer("EXE_TIME", seconds);
    const double operations = 2.0 / 3.0 * std::pow(static_cast<double>(size), 3);
    std::printf("\nRate: %.3f Gflop/s\n", seconds > 0.0 ? operations / seconds / 1e9 : 0.0);
    pinstudy_begin("check");
    const auto result = check(factors);
    pinstudy_end("check");
    return report(result);
}

}  // namespace
}  // namespace pinstudy::lu

int main(int argc, char** argv) {
    return pinstudy::run_program("lu", pinstudy::lu::run, argc, argv);
}
