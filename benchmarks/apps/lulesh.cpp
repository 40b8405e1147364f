// Time per element and cycle, with all threads of the team.
#include <benchmark/benchmark.h>

#include "apps/common/schedule.hpp"
#include "apps/common/timer.hpp"
#include "apps/lulesh/solver.hpp"

namespace pinstudy::lulesh {
namespace {

void advance(benchmark::State& state) {
    default_to_static_schedule(0);
    constexpr std::int64_t kCycles = 20;
    const std::int64_t edge = state.range(0);
    std::int64_t updates = 0;
    for (auto _ : state) {
        Domain domain(static_cast<Index>(edge), RegionOptions{});
        const Timer timer;
        run(domain, kCycles);
        state.SetIterationTime(timer.seconds());
        updates += edge * edge * edge * kCycles;
    }
    state.counters["time_per_element"] = benchmark::Counter(
        static_cast<double>(updates), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["threads"] = max_threads();
}

BENCHMARK(advance)->Arg(10)->Arg(20)->Arg(30)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinstudy::lulesh

BENCHMARK_MAIN();
