// Statistics of samples: centre, spread, and intervals. No outlier is left out.
#pragma once

#include <cstddef>
#include <vector>

namespace pinstudy {

using Samples = std::vector<double>;

// Both ends of a 95 % interval.
struct Interval {
    double low = 0.0;
    double high = 0.0;

    double half_width() const { return (high - low) / 2.0; }
};

// Of one sample or more.
double median(Samples samples);
double mean(const Samples& samples);

// Half the distance between the quartiles (of Hyndman and Fan, "Sample Quantiles in Statistical
// Packages", 1996, type 7), of one sample or more.
double half_quartile_distance(Samples samples);

// With n - 1, of two samples or more.
double standard_deviation(const Samples& samples);

// An interval for the median whose ends are samples, so that it holds for every distribution: the
// number of samples below the median is binomial. Of six samples or more; fewer have none.
Interval median_interval(Samples samples);

// Student's t interval for the mean, of ten samples or more.
Interval mean_interval(const Samples& samples);

// The 0.975 quantile of Student's t distribution, to four digits from 9 degrees of freedom on.
double student_t(std::size_t degrees);

}  // namespace pinstudy
