#include "apps/threadmap/team.hpp"

#include <atomic>
#include <barrier>
#include <exception>

#include "apps/common/team.hpp"

#ifdef _OPENMP
    #include <omp.h>
#endif

namespace pinstudy::threadmap {
namespace {

int place_of_this_thread() {
#ifdef _OPENMP
    return omp_get_place_num();
#else
    return -1;
#endif
}

}  // namespace

int default_team_size(const Cpus& allowed) {
#ifdef _OPENMP
    static_cast<void>(allowed);
    int size = 0;
    #pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            size = omp_get_num_threads();
        }
    }
    return size;
#else
    return static_cast<int>(allowed.size());
#endif
}

Team watch_team(int threads, double seconds, int slices, const AssignedCpus& assigned) {
    Team team;
    team.members.resize(static_cast<std::size_t>(threads));
    team.seconds = seconds;
    std::vector<std::string> problems(team.members.size());
    std::atomic<bool> go_on{true};
    Clock::time_point start;
    // Who pins threads from outside, as likwid-pin does, does so after it has created each: all are
    // where they shall be when the last one has been created.
    std::barrier gate(threads, [&start]() noexcept { start = Clock::now(); });
    run_team(threads, [&](int i) {
        Member& member = team.members[static_cast<std::size_t>(i)];
        std::string& problem = problems[static_cast<std::size_t>(i)];
        problem = assigned.take(i);
        if (!problem.empty()) {
            go_on = false;
        }
        gate.arrive_and_wait();
        if (!go_on) {
            return;
        }
        try {
            member.place = place_of_this_thread();
            member.misplaced = assigned.violation(i);
            member.view = watch_this_thread(start, seconds, slices);
            if (member.misplaced.empty()) {
                member.misplaced = assigned.violation(i);
            }
        } catch (const std::exception& error) {
            problem = error.what();
        }
    });
    for (const std::string& problem : problems) {
        if (team.problem.empty()) {
            team.problem = problem;
        }
    }
    return team;
}

}  // namespace pinstudy::threadmap
