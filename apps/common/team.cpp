#include "apps/common/team.hpp"

#include <sched.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#ifdef _OPENMP
    #include <omp.h>
#endif

namespace pinstudy {

#ifdef _OPENMP
void run_team(int threads, const std::function<void(int thread)>& body) {
    int formed = 0;
    #pragma omp parallel num_threads(threads)
    {
        if (omp_get_thread_num() == 0) {
            formed = omp_get_num_threads();
        }
    #pragma omp barrier
        if (formed == threads) {
            body(omp_get_thread_num());
        }
    }
    if (formed != threads) {
        throw std::runtime_error("the OpenMP runtime gave " + std::to_string(formed) + " of " +
                                 std::to_string(threads) + " threads");
    }
}
#else
void run_team(int threads, const std::function<void(int thread)>& body) {
    // Nobody begins before all are there, or ends without having begun.
    enum Order { kWait, kBegin, kEnd };
    std::atomic<int> order{kWait};
    const auto give = [&order](Order word) {
        order = word;
        order.notify_all();
    };
    std::vector<std::jthread> others;
    try {
        for (int i = 1; i < threads; ++i) {
            others.emplace_back([&body, &order, i] {
                order.wait(kWait);
                if (order == kBegin) {
                    body(i);
                }
            });
        }
    } catch (const std::system_error& error) {
        give(kEnd);
        throw std::runtime_error("the system gave " + std::to_string(1 + others.size()) + " of " +
                                 std::to_string(threads) + " threads: " + error.what());
    }
    give(kBegin);
    body(0);
}
#endif

int Team::lead(int threads, const std::function<int(Team&)>& lead) {
    Team team(threads);
    int status = 0;
    std::exception_ptr failure;
    run_team(threads, [&](int thread) {
        if (thread != 0) {
            team.follow(thread);
            return;
        }
        try {
            status = lead(team);
        } catch (...) {
            failure = std::current_exception();
        }
        team.call(-1);
    });
    if (failure) {
        std::rethrow_exception(failure);
    }
    return status;
}

const std::vector<Turn>& Team::round(const Work& work) {
    work_ = &work;
    at_work_.store(threads_, std::memory_order_relaxed);
    const int round = called_.load(std::memory_order_relaxed) + 1;
    call(round);
    take_turn(0, round);
    for (int left = at_work_.load(std::memory_order_acquire); left != 0;
         left = at_work_.load(std::memory_order_acquire)) {
        at_work_.wait(left, std::memory_order_acquire);
    }
    return turns_;
}

double Team::since_release() const {
    return std::chrono::duration<double>(Clock::now() - released_).count();
}

// Calls the others to a round; to -1, to end.
void Team::call(int round) {
    called_.store(round, std::memory_order_release);
    called_.notify_all();
}

void Team::follow(int thread) {
    for (int round = 0;;) {
        called_.wait(round, std::memory_order_acquire);
        round = called_.load(std::memory_order_acquire);
        if (round < 0) {
            return;
        }
        take_turn(thread, round);
    }
}

void Team::take_turn(int thread, int round) {
    // Some microseconds: the others come within that unless they share the CPU.
    constexpr int kLooks = 4096;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
        arrived_.store(0, std::memory_order_relaxed);
        released_ = Clock::now();
        open_.store(round, std::memory_order_release);
    } else {
        for (int looks = 1; open_.load(std::memory_order_acquire) != round; ++looks) {
            if (looks % kLooks == 0) {
                sched_yield();
            }
        }
    }
    Turn& turn = turns_[static_cast<std::size_t>(thread)];
    const int first_cpu = sched_getcpu();
    (*work_)(thread);
    turn = {since_release(), first_cpu, sched_getcpu()};
    if (at_work_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        at_work_.notify_one();
    }
}

}  // namespace pinstudy
