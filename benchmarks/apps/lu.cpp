// Floating-point operations per second of the elimination, with all threads of the team.
#include <benchmark/benchmark.h>

#include <cmath>

#include "apps/common/schedule.hpp"
#include "apps/common/timer.hpp"
#include "apps/lu/elimination.hpp"

namespace pinstudy::lu {
namespace {

void eliminate_matrix(benchmark::State& state) {
    default_to_static_schedule(1);
    Matrix matrix(state.range(0));
    double operations = 0.0;
    for (auto _ : state) {
        fill(matrix);
        const Timer timer;
        eliminate(matrix);
        state.SetIterationTime(timer.seconds());
        operations += 2.0 / 3.0 * std::pow(static_cast<double>(state.range(0)), 3);
    }
    state.counters["flop_per_second"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
    state.counters["threads"] = max_threads();
}

BENCHMARK(eliminate_matrix)
    ->Arg(200)
    ->Arg(1000)
    ->Arg(2000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinstudy::lu

BENCHMARK_MAIN();
