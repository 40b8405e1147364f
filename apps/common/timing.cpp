#include "apps/common/timing.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "apps/common/columns.hpp"
#include "apps/common/exit_status.hpp"

namespace pinstudy {
namespace {

constexpr std::string_view kPrefix = "--benchmark_";

std::string value_of(const std::vector<std::string>& arguments, const std::string& name) {
    for (const std::string& argument : arguments) {
        if (argument.starts_with(name + "=")) {
            return argument.substr(name.size() + 1);
        }
    }
    return {};
}

// Google Benchmark answers another format with its usage and exit status 0.
std::string wrong_format(const std::vector<std::string>& arguments) {
    for (const std::string name : {"--benchmark_format", "--benchmark_out_format"}) {
        const std::string format = value_of(arguments, name);
        if (!format.empty() && format != "console" && format != "json" && format != "csv") {
            return name + ": expected console or json or csv, got '" + format + "'";
        }
    }
    return {};
}

void set(Spread& spread, const std::string& statistic, double value) {
    if (statistic == "median") {
        spread.median = value;
    } else if (statistic == "mean") {
        spread.mean = value;
    } else if (statistic == "stddev") {
        spread.sd = value;
    }
}

// Takes what is measured instead of printing it.
class Collector : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context&) override { return true; }

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            Timed& timed = found_[run.run_name.function_name];
            if (run.run_type == Run::RT_Aggregate) {
                take(timed, run, run.aggregate_name);
            } else if (run.repetitions <= 1) {
                // Of one repetition there are no aggregates.
                take(timed, run, "median");
                take(timed, run, "mean");
            }
            timed.rounds = std::max<std::int64_t>(1, run.repetitions);
        }
    }

    Results found() && { return std::move(found_); }

  private:
    static void take(Timed& timed, const Run& run, const std::string& statistic) {
        set(timed.ms, statistic, run.GetAdjustedRealTime());
        for (const auto& [name, counter] : run.counters) {
            set(timed.quantities[name], statistic, counter.value);
        }
    }

    Results found_;
};

// Says on a terminal what is measured, in one line that the next one overwrites.
void show(const std::string& what) {
    if (isatty(STDERR_FILENO) != 0) {
        std::fprintf(stderr, "\r\033[K%s", what.c_str());
    }
}

}  // namespace

std::string sd_text(const Spread& spread, int digits) {
    return spread.sd ? fixed(*spread.sd, digits) : "-";
}

Timing::Timing(char* program, std::vector<std::string>& arguments) {
    const auto first = std::stable_partition(
        arguments.begin(), arguments.end(),
        [](const std::string& argument) { return !argument.starts_with(kPrefix); });
    std::vector<std::string> its(first, arguments.end());
    arguments.erase(first, arguments.end());
    mistake_ = wrong_format(its);
    if (!mistake_.empty()) {
        return;
    }
    const auto is_for_a_list = [](const std::string& argument) {
        return argument.starts_with("--benchmark_list_tests") && !argument.ends_with("=false");
    };
    has_the_output_ = !value_of(its, "--benchmark_format").empty() ||
                      std::any_of(its.begin(), its.end(), is_for_a_list);
    has_the_repetitions_ = !value_of(its, "--benchmark_repetitions").empty();

    std::vector<char*> argv{program};
    for (std::string& argument : its) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    int argc = static_cast<int>(its.size() + 1);
    benchmark::Initialize(&argc, argv.data());
    if (argc > 1) {
        mistake_ =
            std::string(argv[1]) + ": Google Benchmark has no such option, or not this value";
    }
}

void Timing::add(const std::string& name, std::int64_t rounds, std::function<Sample()> round) {
    auto* const registered = benchmark::RegisterBenchmark(
        name.c_str(), [this, name, round = std::move(round)](benchmark::State& state) {
            show("measuring " + name);
            measured_ = true;
            for ([[maybe_unused]] const auto iteration : state) {
                const Sample sample = round();
                if (!sample.failure.empty()) {
                    state.SkipWithError(sample.failure.c_str());
                    break;
                }
                state.SetIterationTime(sample.seconds);
                for (const auto& [quantity, value] : sample.quantities) {
                    state.counters[quantity] = value;
                }
            }
        });
    registered->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
    if (!has_the_repetitions_) {
        registered->Repetitions(static_cast<int>(rounds));
    }
}

Results Timing::run() {
    if (has_the_output_) {
        chosen_ = benchmark::RunSpecifiedBenchmarks();
        show("");
        return {};
    }
    Collector collector;
    chosen_ = benchmark::RunSpecifiedBenchmarks(&collector);
    show("");
    return std::move(collector).found();
}

int Timing::conclude(const Verdict& verdict) const {
    if (chosen_ && !measured_) {
        return *chosen_ > 0 ? kExitOk : kExitUserError;
    }
    if (!has_the_output_) {
        return report(verdict);
    }
    if (!verdict.passed) {
        std::fprintf(stderr, "check failed: %s\n", verdict.reason.c_str());
    }
    return verdict.passed ? kExitOk : kExitCheckFailed;
}

}  // namespace pinstudy
