// Threads that do one thing together: OpenMP's in the variants that have OpenMP, else the C++
// library's, so that what places threads from outside can be compared.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#ifndef PINSTUDY_IN_A_VARIANT
    #error "list the source that includes this with the sources of OPENMP"
#endif
#ifdef _OPENMP
    #include <omp.h>
#endif

namespace pinstudy {

// Runs body(i) for i = 0 .. threads - 1, each in a thread of its own and all at once; thread 0 is
// the calling one, as in OpenMP and as likwid-pin counts. `body` must not throw. Throws
// std::runtime_error, before any body has done its work, when fewer threads can be had.
template <typename Body>
void run_team(int threads, const Body& body) {
#ifdef _OPENMP
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
#else
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
#endif
}

}  // namespace pinstudy
