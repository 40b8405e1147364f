#include "apps/threadmap/each_cpu.hpp"

#include <system_error>
#include <thread>

namespace pinstudy::threadmap {
namespace {

std::string go_to(int cpu) {
    std::string why_not = pin_this_thread(cpu);
    if (const int now = current_cpu(); why_not.empty() && now != cpu) {
        why_not = "pinned, but seen on CPU " + std::to_string(now);
    }
    return why_not;
}

}  // namespace

std::vector<Reached> reach_each(const Cpus& cpus) {
    std::vector<Reached> all;
    for (const int cpu : cpus) {
        Reached& reached = all.emplace_back(Reached{cpu, ""});
        try {
            std::thread([&reached] { reached.why_not = go_to(reached.cpu); }).join();
        } catch (const std::system_error& error) {
            reached.why_not = std::string("no thread can be started: ") + error.what();
        }
    }
    return all;
}

}  // namespace pinstudy::threadmap
