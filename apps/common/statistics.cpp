#include "apps/common/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pinstudy {
namespace {

// 0.975 of the standard normal distribution is below it.
constexpr double kNormalQuantile = 1.959963984540054;

// Of sorted samples; between two of them it is on the straight line.
double quantile(const Samples& sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] +
           (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The largest k for which fewer than k of n samples are below the median with a probability of at
// most 2.5 %.
std::size_t rank_of_low_end(std::size_t n) {
    // 2^-n must be a number; of so many samples the normal distribution gives the same rank but
    // one.
    if (n > 1000) {
        const auto size = static_cast<double>(n);
        return static_cast<std::size_t>((size - kNormalQuantile * std::sqrt(size)) / 2.0);
    }
    double probability = std::ldexp(1.0, -static_cast<int>(n));
    double sum = probability;
    std::size_t rank = 0;
    while (sum <= 0.025) {
        ++rank;
        probability *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
        sum += probability;
    }
    return rank;
}

}  // namespace

double median(Samples samples) {
    std::sort(samples.begin(), samples.end());
    return quantile(samples, 0.5);
}

double mean(const Samples& samples) {
    return std::accumulate(samples.begin(), samples.end(), 0.0) /
           static_cast<double>(samples.size());
}

double half_quartile_distance(Samples samples) {
    std::sort(samples.begin(), samples.end());
    return (quantile(samples, 0.75) - quantile(samples, 0.25)) / 2.0;
}

double standard_deviation(const Samples& samples) {
    const double centre = mean(samples);
    double squares = 0.0;
    for (const double sample : samples) {
        squares += (sample - centre) * (sample - centre);
    }
    return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

Interval median_interval(Samples samples) {
    std::sort(samples.begin(), samples.end());
    const std::size_t rank = rank_of_low_end(samples.size());
    return {samples[rank - 1], samples[samples.size() - rank]};
}

Interval mean_interval(const Samples& samples) {
    const double half_width = student_t(samples.size() - 1) * standard_deviation(samples) /
                              std::sqrt(static_cast<double>(samples.size()));
    const double centre = mean(samples);
    return {centre - half_width, centre + half_width};
}

double student_t(std::size_t degrees) {
    // Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.7.5, from the normal
    // distribution's quantile.
    const double z = kNormalQuantile;
    const double z2 = z * z;
    const auto v = static_cast<double>(degrees);
    const double g1 = (z2 + 1.0) * z / 4.0;
    const double g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) * z / 96.0;
    const double g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * z / 384.0;
    const double g4 =
        ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) * z / 92160.0;
    return z + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}

}  // namespace pinstudy
