#include "apps/pingpong/match.hpp"

#include <sys/resource.h>

#include <exception>
#include <memory>

#include "apps/pingpong/page.hpp"

namespace pinstudy::pingpong {
namespace {

// How often the calling thread was switched out though it wanted to go on.
std::int64_t involuntary_switches() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

}  // namespace

Match::Match(const std::vector<RunPlan>& plan, const Sampling& sampling,
             std::chrono::milliseconds patience)
    : plan_(plan),
      sampling_(sampling),
      pairing_(patience),
      runs_(plan.size()),
      switches_{std::vector<std::int64_t>(plan.size()), std::vector<std::int64_t>(plan.size())} {}

void Match::play(int thread) noexcept {
    try {
        play_all(thread);
    } catch (const std::exception& error) {
        pairing_.give_up(error.what());
    }
}

void Match::play_all(int thread) {
    // Kept to the end, so that no page serves two runs.
    std::vector<std::unique_ptr<Page>> pages;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const bool begins = plan_[i].first_begins == (thread == 0);
        if (begins) {
            pages.push_back(std::make_unique<Page>());
            line_ = &pages.back()->line(plan_[i].slot);
            pairing_.go_on();
        }
        const std::int64_t before = involuntary_switches();
        if (!pairing_.meet(thread)) {
            return;
        }
        if (begins) {
            runs_[i].run = begin(*line_, sampling_, i == 0, pairing_, thread);
        } else {
            runs_[i].answers = answer(*line_, sampling_.play, pairing_, thread);
        }
        switches_[static_cast<std::size_t>(thread)][i] = involuntary_switches() - before;
        if (!pairing_.meet(thread)) {
            return;
        }
    }
}

std::vector<PlayedRun> Match::runs() const {
    std::vector<PlayedRun> played = runs_;
    for (std::size_t i = 0; i < played.size(); ++i) {
        played[i].switches = switches_[0][i] + switches_[1][i];
    }
    return played;
}

std::string wrong_count(const std::vector<PlayedRun>& runs) {
    for (const PlayedRun& played : runs) {
        if (played.run.value != played.run.turns + played.answers ||
            played.run.turns != played.answers) {
            return "the threads handed the line over " + std::to_string(played.run.turns) +
                   " and " + std::to_string(played.answers) + " times, and it counted " +
                   std::to_string(played.run.value);
        }
    }
    return "";
}

}  // namespace pinstudy::pingpong
