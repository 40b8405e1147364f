// What the program found out, and the ways to print it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/verdict.hpp"
#include "apps/threadmap/cgroup.hpp"
#include "apps/threadmap/conclusion.hpp"
#include "apps/threadmap/each_cpu.hpp"
#include "apps/threadmap/runtime.hpp"
#include "apps/threadmap/team.hpp"
#include "apps/threadmap/topology.hpp"

namespace pinstudy::threadmap {

// What is known before any thread is started. `initial` are the CPUs that the initial thread may
// use in main(), where the runtime may have bound it.
struct Surroundings {
    std::string version;
    Topology topology;
    Cpus initial;
    Cgroup cgroup;
    Runtime runtime;
    std::vector<std::pair<std::string, std::string>> variables;
};

// What was seen of the team, and what follows. `reached` is missing with --team-only.
struct Outcome {
    Team team;
    Conclusion conclusion;
    Verdict check;
    std::optional<std::vector<Reached>> reached;
};

// The numbers that a study reads: threads, distinct CPUs on which they were seen, moves, and
// threads that are allowed exactly one CPU.
struct Counts {
    std::size_t threads = 0;
    std::size_t cpus_used = 0;
    std::int64_t moves = 0;
    std::size_t bound = 0;
};
Counts count(const Team& team);

std::string as_text(const Surroundings& surroundings);
std::string as_text(const Outcome& outcome, const Topology& topology);
std::string as_json(const Surroundings& surroundings, const Outcome& outcome);

}  // namespace pinstudy::threadmap
