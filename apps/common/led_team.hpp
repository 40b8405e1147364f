// A team of which thread 0 says what the others do.
#pragma once

#include <exception>

#include "apps/common/placed_team.hpp"
#include "apps/common/rounds.hpp"
#include "apps/common/team.hpp"

namespace pinstudy {

// Forms a team of so many threads and has its thread 0, the calling one, lead it: returns what
// lead(PlacedTeam&) returns, or throws what it throws. Throws std::runtime_error when fewer threads
// can be had.
template <typename Lead>
int lead_team(int threads, const Lead& lead) {
    Rounds rounds(threads);
    int status = 0;
    std::exception_ptr failure;
    run_team(threads, [&](int thread) {
        if (thread != 0) {
            rounds.follow(thread);
            return;
        }
        try {
            PlacedTeam team(rounds);
            status = lead(team);
        } catch (...) {
            failure = std::current_exception();
        }
        rounds.dismiss();
    });
    if (failure) {
        std::rethrow_exception(failure);
    }
    return status;
}

}  // namespace pinstudy
