#include "apps/pingpong/team.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "apps/common/exit_status.hpp"
#include "apps/common/team.hpp"
#include "apps/common/verdict.hpp"
#include "apps/pingpong/match.hpp"
#include "apps/pingpong/table.hpp"

namespace pinstudy::pingpong {
namespace {

constexpr int kThreads = 2;

// What the threads say of their places; one text a thread.
struct Places {
    std::array<std::string, kThreads> refused;
    std::array<std::string, kThreads> violated;
};

std::string first_of(const std::array<std::string, kThreads>& texts) {
    return texts[0].empty() ? texts[1] : texts[0];
}

void print_per_s(const char* name, double rate) {
    if (std::isfinite(rate)) {
        std::printf("%s: %.0f /s\n", name, rate);
    } else {
        std::printf("%s: n/a (the samples differ too much)\n", name);
    }
}

void print(const Settings& settings, const PlayedRun& played, std::int64_t yields) {
    const Samples& samples = played.run.one_way_ns;
    const Rate rate = rate_per_s(samples);
    std::printf("Method: %s, %lld round trips a sample\n", settings.method.c_str(),
                static_cast<long long>(played.run.round_trips));
    std::printf("Latency median: %.3f ns\n", median(samples));
    std::printf("Latency mean: %.3f ns\n", mean(samples));
    std::printf("Latency sd: %.3f ns\n", standard_deviation(samples));
    print_per_s("Rate", rate.mean);
    print_per_s("Rate low", rate.interval.low);
    print_per_s("Rate high", rate.interval.high);
    std::printf("Samples: %zu\n", samples.size());
    std::printf("Switched out: %lld times\n", static_cast<long long>(played.switches));
    if (yields > 0) {
        std::printf(
            "Both threads were on one CPU %lld times: a hand-over there is a context switch, no "
            "transfer of a line\n",
            static_cast<long long>(yields));
    }
}

}  // namespace

int play_as_team(const Settings& settings, const AssignedCpus& assigned) {
    const std::vector<RunPlan> plan{RunPlan{}};
    Sampling sampling = settings.sampling;
    sampling.precision = 0.0;
    sampling.sample_ns = long_enough_ns(sampling.sample_ns, clock_cost_ns());
    Match match(plan, sampling);
    Places places;
    run_team(kThreads, [&](int thread) {
        const auto i = static_cast<std::size_t>(thread);
        places.refused[i] = assigned.take(thread);
        places.violated[i] = assigned.violation(thread);
        if (!places.refused[i].empty() || !places.violated[i].empty()) {
            match.pairing().give_up("its threads are not where they should be");
        }
        match.play(thread);
        if (places.violated[i].empty()) {
            places.violated[i] = assigned.violation(thread);
        }
    });
    if (const std::string refused = first_of(places.refused); !refused.empty()) {
        std::fprintf(stderr, "pingpong: %s\n", refused.c_str());
        return kExitFailed;
    }
    if (const std::string violated = first_of(places.violated); !violated.empty()) {
        return report({false, violated});
    }
    if (match.pairing().given_up()) {
        std::fprintf(stderr, "pingpong: %s\n", match.pairing().reason().c_str());
        return kExitFailed;
    }
    const std::vector<PlayedRun> runs = match.runs();
    print(settings, runs[0], match.pairing().yields());
    const std::string wrong = wrong_count(runs);
    return report({wrong.empty(), wrong.empty()
                                      ? "the line counted " + std::to_string(runs[0].run.value) +
                                            " hand-overs, as both threads did"
                                      : wrong});
}

}  // namespace pinstudy::pingpong
