#include "apps/yardstick/places.hpp"

#include <stdexcept>
#include <string>

#include "apps/common/affinity.hpp"

namespace pinstudy::yardstick {

void go_to(int cpu) {
    if (const std::string problem = pin_this_thread(cpu); !problem.empty()) {
        throw std::runtime_error("CPU " + std::to_string(cpu) + ": " + problem);
    }
}

std::int64_t move_to_and_fro(int first, int second, std::int64_t times) {
    std::int64_t moved = 0;
    for (std::int64_t i = 0; i < times; ++i) {
        const int before = current_cpu();
        go_to(before == first ? second : first);
        moved += current_cpu() == before ? 0 : 1;
    }
    return moved;
}

}  // namespace pinstudy::yardstick
