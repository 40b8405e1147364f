#include "apps/mandelbrot/sampling.hpp"

#include "apps/common/schedule.hpp"
#include "apps/mandelbrot/lanes.hpp"

namespace pinstudy::mandelbrot {

Tally count_outside(std::span<const Point> points, double threshold) {
    std::int64_t outside = 0;
    int threads = 1;
#pragma omp parallel reduction(+ : outside)
    {
#pragma omp single nowait
        threads = team_size();
        Lanes lanes(threshold);
#pragma omp for schedule(runtime) nowait
        for (std::size_t i = 0; i < points.size(); ++i) {
            lanes.add(points[i]);
        }
        lanes.finish();
        outside += lanes.outside();
    }
    return {outside, threads};
}

double area_of(std::int64_t inside, std::int64_t points) {
    return 2.0 * kWidth * kHeight * static_cast<double>(inside) / static_cast<double>(points);
}

}  // namespace pinstudy::mandelbrot
