#include "apps/pingpong/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace pinstudy::pingpong {
namespace {

using Clock = std::chrono::steady_clock;

// A thousandth of a sample is below the noise of every node seen.
constexpr double kClockReadingsPerSample = 1000.0;
constexpr std::int64_t kMostRoundTrips = 1'000'000'000;

// Round trips of a first guess at how long they take: the least of some, because disturbances
// only ever add.
constexpr std::int64_t kProbeRoundTrips = 32;
constexpr std::size_t kProbes = 5;

// A core that was idle may need milliseconds to reach its frequency. Warm-up is over when two
// following groups of samples have about the same median, or after so many groups: 0.8 to 20 ms.
constexpr double kWarmUpSampleNs = 50e3;
constexpr std::size_t kGroup = 8;
constexpr int kMostGroups = 50;
constexpr double kSteady = 0.01;
// Threads that are warm need only fetch the line.
constexpr std::size_t kBriefGroup = 2;

// More samples are taken in steps of a fifth, so that the interval is not looked at after each one:
// looking often finds it narrow by chance.
constexpr double kStep = 1.2;

double nanoseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::nano>(duration).count();
}

class Beginning {
  public:
    Beginning(Line& line, const Sampling& sampling, Pairing& pairing, int thread)
        : line_(line), sampling_(sampling), pairing_(pairing), thread_(thread) {}

    Run run(bool cold) {
        Run run;
        if (const auto one_way_ns = warm_up(cold)) {
            run.round_trips = round_trips_in(sampling_.sample_ns, *one_way_ns);
            take_samples(run);
        }
        if (!last_answer()) {
            run.one_way_ns.clear();
        }
        run.turns = turn_ / 2;
        run.value = line_.turn.load(std::memory_order_acquire);
        return run;
    }

  private:
    // One-way nanoseconds over so many round trips; nothing when the pairing was given up. The
    // turn before the first reading of the clock ends the round trip that went on meanwhile.
    std::optional<double> sample(std::int64_t round_trips) {
        if (pairing_.given_up() || !sampling_.play(line_, turn_, 1, pairing_, thread_)) {
            return std::nullopt;
        }
        const auto before = Clock::now();
        if (!sampling_.play(line_, turn_, round_trips, pairing_, thread_)) {
            return std::nullopt;
        }
        const auto after = Clock::now();
        pairing_.progressed();
        return nanoseconds(after - before) / static_cast<double>(round_trips) / 2.0;
    }

    static std::int64_t round_trips_in(double duration_ns, double one_way_ns) {
        const double round_trips = std::ceil(duration_ns / (2.0 * one_way_ns));
        return std::clamp(static_cast<std::int64_t>(round_trips), std::int64_t{1}, kMostRoundTrips);
    }

    // The median of so many samples; nothing when the pairing was given up.
    std::optional<double> group(std::size_t size, std::int64_t round_trips) {
        Samples samples;
        if (!take(samples, size, round_trips)) {
            return std::nullopt;
        }
        return median(std::move(samples));
    }

    // One-way nanoseconds once they are steady.
    std::optional<double> warm_up(bool cold) {
        Samples probes;
        if (!take(probes, kProbes, kProbeRoundTrips)) {
            return std::nullopt;
        }
        const double shortest = *std::min_element(probes.begin(), probes.end());
        const double sample_ns = std::min(sampling_.sample_ns, kWarmUpSampleNs);
        const std::int64_t round_trips = round_trips_in(sample_ns, shortest);
        auto before = group(cold ? kGroup : kBriefGroup, round_trips);
        for (int groups = 1; cold && before && groups < kMostGroups; ++groups) {
            const auto now = group(kGroup, round_trips);
            if (now && std::abs(*now - *before) <= kSteady * *now) {
                return now;
            }
            before = now;
        }
        return before;
    }

    // Adds samples until there are `wanted`. False when the pairing was given up.
    bool take(Samples& samples, std::size_t wanted, std::int64_t round_trips) {
        while (samples.size() < wanted) {
            const auto one_way = sample(round_trips);
            if (!one_way) {
                return false;
            }
            samples.push_back(*one_way);
        }
        return true;
    }

    void take_samples(Run& run) {
        auto wanted = static_cast<std::size_t>(sampling_.least);
        const auto most = static_cast<std::size_t>(sampling_.most);
        run.one_way_ns.reserve(most);
        while (take(run.one_way_ns, wanted, run.round_trips)) {
            if (wanted >= most || precise(run.one_way_ns)) {
                return;
            }
            wanted = std::min(
                most, static_cast<std::size_t>(std::ceil(kStep * static_cast<double>(wanted))));
        }
    }

    bool precise(const Samples& samples) const {
        return sampling_.precision <= 0.0 ||
               median_interval(samples).half_width() <= sampling_.precision * median(samples);
    }

    // Waits for the answer to the last turn, so that the line has counted all of them.
    bool last_answer() {
        Wait wait(pairing_, thread_);
        while (line_.turn.load(std::memory_order_acquire) < turn_) {
            if (!wait.goes_on(Until::given_up)) {
                return false;
            }
        }
        pairing_.stop();
        return true;
    }

    Line& line_;
    const Sampling& sampling_;
    Pairing& pairing_;
    int thread_;
    std::uint64_t turn_ = 0;
};

}  // namespace

double clock_cost_ns() {
    constexpr int kReadings = 1000;
    const auto first = Clock::now();
    double step = std::numeric_limits<double>::infinity();
    auto last = first;
    for (int i = 0; i < kReadings; ++i) {
        const auto now = Clock::now();
        if (now > last) {
            step = std::min(step, nanoseconds(now - last));
            last = now;
        }
    }
    const double cost = nanoseconds(last - first) / kReadings;
    return std::max(cost, std::isfinite(step) ? step : 0.0);
}

double long_enough_ns(double sample_ns, double clock_ns) {
    return std::max(sample_ns, kClockReadingsPerSample * clock_ns);
}

Run begin(Line& line, const Sampling& sampling, bool cold, Pairing& pairing, int thread) {
    return Beginning(line, sampling, pairing, thread).run(cold);
}

std::uint64_t answer(Line& line, Play play, Pairing& pairing, int thread) {
    std::uint64_t turn = 1;
    while (play(line, turn, kMostRoundTrips, pairing, thread)) {
    }
    return turn / 2;
}

}  // namespace pinstudy::pingpong
