#include "apps/threadmap/matching.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace pinstudy::threadmap {
namespace {

// CPUs given to threads so far, and how to change that (augmenting paths: König 1931, Kuhn 1955).
class Giving {
  public:
    explicit Giving(const std::vector<Cpus>& masks) : masks_(masks) {}

    // Gives the thread a CPU, taking it from another thread where that one can have a third.
    // Whatever was tried on the way is in `tried`.
    bool give(int thread, std::set<int>& tried) {
        // The search is a list of threads still to be helped, not recursion: a chain of thousands
        // of threads must not use up the stack.
        std::map<int, int> wanted_by;  // CPU -> the thread that wants it
        std::vector<int> pending{thread};
        while (!pending.empty()) {
            const int helped = pending.back();
            pending.pop_back();
            for (const int cpu : masks_[static_cast<std::size_t>(helped)]) {
                if (!tried.insert(cpu).second) {
                    continue;
                }
                wanted_by[cpu] = helped;
                const auto owner = owner_.find(cpu);
                if (owner == owner_.end()) {
                    hand_over(cpu, thread, wanted_by);
                    return true;
                }
                pending.push_back(owner->second);
            }
        }
        return false;
    }

  private:
    // Gives a free CPU to the thread that wants it, that thread's CPU to the one that wants that,
    // and so on up to the thread that began.
    void hand_over(int cpu, int beginner, const std::map<int, int>& wanted_by) {
        while (true) {
            const int thread = wanted_by.at(cpu);
            owner_[cpu] = thread;
            const auto before = has_.find(thread);
            const int freed = before == has_.end() ? -1 : before->second;
            has_[thread] = cpu;
            if (thread == beginner) {
                return;
            }
            cpu = freed;
        }
    }

    const std::vector<Cpus>& masks_;
    std::map<int, int> owner_;  // CPU -> thread
    std::map<int, int> has_;    // thread -> CPU
};

}  // namespace

Shortage find_shortage(const std::vector<Cpus>& masks) {
    Giving giving(masks);
    const int threads = static_cast<int>(masks.size());
    for (int thread = 0; thread < threads; ++thread) {
        std::set<int> tried;
        if (giving.give(thread, tried)) {
            continue;
        }
        // The CPUs that were tried belong to threads that may run on no others. These and the one
        // that got none are among the threads that may run there only.
        Shortage shortage{{}, {tried.begin(), tried.end()}};
        for (int other = 0; other < threads; ++other) {
            const Cpus& mask = masks[static_cast<std::size_t>(other)];
            if (std::all_of(mask.begin(), mask.end(),
                            [&tried](int cpu) { return tried.count(cpu) > 0; })) {
                shortage.threads.push_back(other);
            }
        }
        return shortage;
    }
    return {};
}

}  // namespace pinstudy::threadmap
