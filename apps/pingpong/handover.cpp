#include "apps/pingpong/handover.hpp"

#if defined(__x86_64__) || defined(__i386__)
    #include <immintrin.h>
#endif

namespace pinstudy::pingpong {
namespace {

void tell_that_it_spins() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // "yield" does nothing on most cores
#endif
}

template <Method method>
bool try_turn(Line& line, std::uint64_t turn) {
    if constexpr (method == Method::cas) {
        std::uint64_t expected = turn;
        return line.turn.compare_exchange_strong(expected, turn + 1, std::memory_order_acq_rel,
                                                 std::memory_order_relaxed);
    } else {
        if (line.turn.load(std::memory_order_acquire) != turn) {
            return false;
        }
        line.turn.store(turn + 1, std::memory_order_release);
        return true;
    }
}

template <Method method, bool pause>
bool look_for_turn(Line& line, std::uint64_t turn, int looks) {
    for (int look = 0; look < looks; ++look) {
        if (try_turn<method>(line, turn)) {
            return true;
        }
        if constexpr (pause) {
            tell_that_it_spins();
        }
    }
    return false;
}

// `looks` are those before asking whether to go on; the next turn begins with as many.
template <Method method, bool pause>
bool take_turn(Line& line, std::uint64_t turn, int& looks, Pairing& pairing, int thread) {
    if (look_for_turn<method, pause>(line, turn, looks)) {
        return true;
    }
    Wait wait(pairing, thread);
    while (wait.goes_on(Until::stop)) {
        looks = wait.looks();
        if (look_for_turn<method, pause>(line, turn, looks)) {
            return true;
        }
    }
    return false;
}

template <Method method, bool pause>
bool play(Line& line, std::uint64_t& turn, std::int64_t times, Pairing& pairing, int thread) {
    int looks = Wait::kLooks;
    for (std::int64_t taken = 0; taken < times; ++taken) {
        if (!take_turn<method, pause>(line, turn, looks, pairing, thread)) {
            return false;
        }
        turn += 2;
    }
    return true;
}

}  // namespace

Play play_of(Method method, bool pause) {
    if (method == Method::cas) {
        return pause ? play<Method::cas, true> : play<Method::cas, false>;
    }
    return pause ? play<Method::store, true> : play<Method::store, false>;
}

}  // namespace pinstudy::pingpong
