#include "apps/threadmap/sightings.hpp"

#include <algorithm>
#include <map>

namespace pinstudy::threadmap {

void Sightings::add(int cpu, int slice) {
    if (looks_ == 0) {
        first_ = cpu;
    } else if (cpu != last_) {
        ++moves_;
    }
    last_ = cpu;
    ++looks_;
    std::vector<Seen>& seen = slices_[static_cast<std::size_t>(slice)];
    for (Seen& of_cpu : seen) {
        if (of_cpu.cpu == cpu) {
            ++of_cpu.looks;
            return;
        }
    }
    seen.push_back({cpu, 1});
}

std::vector<Seen> Sightings::cpus() const {
    std::map<int, std::int64_t> looks;
    for (const std::vector<Seen>& slice : slices_) {
        for (const Seen& seen : slice) {
            looks[seen.cpu] += seen.looks;
        }
    }
    std::vector<Seen> all;
    for (const auto& [cpu, count] : looks) {
        all.push_back({cpu, count});
    }
    return all;
}

int most_seen(const std::vector<Seen>& seen) {
    const auto most = std::max_element(
        seen.begin(), seen.end(), [](const Seen& a, const Seen& b) { return a.looks < b.looks; });
    return most == seen.end() ? -1 : most->cpu;
}

}  // namespace pinstudy::threadmap
