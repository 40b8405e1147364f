// Time per iteration of z -> z^2 + c, with all threads of the team.
#include <benchmark/benchmark.h>

#include "apps/common/schedule.hpp"
#include "apps/mandelbrot/check.hpp"
#include "apps/mandelbrot/lanes.hpp"
#include "apps/mandelbrot/sampling.hpp"

namespace pinstudy::mandelbrot {
namespace {

void count_points(benchmark::State& state) {
    default_to_static_schedule(0);
    const std::vector<Point> points = sample_points(state.range(0));
    std::int64_t inside = 0;
    for (auto _ : state) {
        inside += state.range(0) - count_outside(points, kOmpscrEscape).outside;
    }
    // Points outside leave after a few iterations: those inside are practically all the work.
    const double iterations = static_cast<double>(inside) * kMaxIterations;
    state.counters["time_per_iteration"] =
        benchmark::Counter(iterations, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["threads"] = max_threads();
}

BENCHMARK(count_points)->Arg(10000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinstudy::mandelbrot

BENCHMARK_MAIN();
