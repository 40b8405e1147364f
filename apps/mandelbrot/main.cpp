// mandelbrot: the area of the Mandelbrot set from random points, as OmpSCR's c_mandel.
#include <cmath>
#include <cstdio>

#include "apps/common/memory.hpp"
#include "apps/common/ompscr.hpp"
#include "apps/common/openmp.hpp"
#include "apps/common/program.hpp"
#include "apps/common/timer.hpp"
#include "apps/mandelbrot/check.hpp"
#include "apps/mandelbrot/sampling.hpp"

namespace pinstudy::mandelbrot {
namespace {

void print_result(int threads, std::int64_t points, std::int64_t inside, double seconds) {
    const double area = area_of(inside, points);
    // OmpSCR's estimate of the error; the standard error is 1.65 times as large.
    const double error = area / std::sqrt(static_cast<double>(points));
    std::printf("\n\t# THREADS NPOINTS AREA \t\t\tERROR \t\tTIME (secs.)\n");
    std::printf("\t%d \t%lld \t%16.12f %16.12f \t%f\n\n", threads, static_cast<long long>(points),
                area, error, seconds);
}

int run(int argc, char** argv) {
    const SizeArgument argument{"NPOINTS", "Number of points", 2147483647, 4092};
    Options options("mandelbrot",
                    "Estimates the area of the Mandelbrot set from random points; threads and "
                    "schedule are taken from OMP_NUM_THREADS and OMP_SCHEDULE (default: static).");
    std::int64_t points_wanted = 0;
    std::string escape_word = std::to_string(kOmpscrEscape);
    options.word("--escape", escape_word, {escape_word, std::to_string(kExactEscape)},
                 "Threshold on |z|^2 beyond which a point is outside; 2 is OmpSCR's, 4 loses no "
                 "member of the set");
    if (const auto exit_status = parse_size(options, argument, points_wanted, argc, argv)) {
        return *exit_status;
    }
    const std::int64_t escape = std::stoll(escape_word);
    const double bytes = static_cast<double>(points_wanted) * sizeof(Point);
    if (const std::string reason = why_too_large("NPOINTS", bytes); !reason.empty()) {
        return options.user_error(reason);
    }

    default_to_static_schedule(0);
    print_header(argv[0], "Mandelbrot set area", argument, points_wanted, max_threads());
    const std::vector<Point> points = sample_points(points_wanted);
    const Timer timer;
    const std::int64_t outside = count_outside(points, static_cast<double>(escape));
    const double seconds = timer.seconds();
    const std::int64_t inside = points_wanted - outside;
    print_result(max_threads(), points_wanted, inside, seconds);
    print_timer("Total_time", seconds);
    std::printf("\nPoints inside: %lld\nStandard error: %.6f\n", static_cast<long long>(inside),
                standard_error(points_wanted));
    return report(check(points_wanted, inside, escape));
}

}  // namespace
}  // namespace pinstudy::mandelbrot

int main(int argc, char** argv) {
    return pinstudy::run_program("mandelbrot", pinstudy::mandelbrot::run, argc, argv);
}
