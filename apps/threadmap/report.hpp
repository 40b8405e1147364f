// The program's results, and the ways to print them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/threadmap/conclusion.hpp"
#include "apps/threadmap/runtime.hpp"
#include "apps/threadmap/surroundings.hpp"
#include "apps/threadmap/team.hpp"

namespace pinstudy::threadmap {

// The facts before any thread is started. `allowed` are the CPUs of the process, `initial` those
// that the initial thread may use in main(), where the runtime may have bound it.
struct Surroundings {
    std::string version;
    Cpus allowed;
    Cpus initial;
    Cgroup cgroup;
    Runtime runtime;
    std::vector<std::pair<std::string, std::string>> variables;
};

// The observations of the team in so many seconds, and the conclusion. `reached` is missing with
// --team-only.
struct Outcome {
    double seconds = 0;
    std::vector<Member> members;
    Conclusion conclusion;
    Verdict check;
    std::optional<std::vector<Reached>> reached;
};

std::string as_text(const Surroundings& surroundings);
std::string as_text(const Outcome& outcome);
std::string as_json(const Surroundings& surroundings, const Outcome& outcome);

}  // namespace pinstudy::threadmap
