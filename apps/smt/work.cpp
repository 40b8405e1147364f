#include "apps/smt/work.hpp"

#include <cmath>

namespace pinstudy::smt {

std::string name_of(Work work) {
    return work == Work::accumulate ? "accumulate" : "sin";
}

float accumulate(std::span<const float> items) {
    float sum = 0;
    for (const float item : items) {
        sum += item;
    }
    return sum;
}

float sum_of_sines(std::span<const float> items) {
    float sum = 0;
    for (const float item : items) {
        sum += std::sin(item);
    }
    return sum;
}

float do_work(Work work, std::span<const float> items) {
    return work == Work::accumulate ? accumulate(items) : sum_of_sines(items);
}

}  // namespace pinstudy::smt
