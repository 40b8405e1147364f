#include "apps/lulesh/solver.hpp"

#include <limits>
#include <vector>

#include "apps/common/schedule.hpp"
#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/force.hpp"
#include "apps/lulesh/kinematics.hpp"
#include "apps/lulesh/motion.hpp"
#include "apps/lulesh/seams.hpp"
#include "apps/lulesh/team.hpp"

namespace pinstudy::lulesh {
namespace {

// What a thread found in its elements, in a cache line of its own.
struct alignas(64) Findings {
    double lowest_volume = std::numeric_limits<double>::infinity();
    Constraints constraints;
};

// Every thread of the team gets the same result: the minimum and maximum of exact values do not
// depend on the order.
Findings combined(const std::vector<Findings>& findings, const Team& team) {
    Findings all;
    for (int rank = 0; rank < team.size; ++rank) {
        const Findings& one = findings[static_cast<std::size_t>(rank)];
        all.lowest_volume = std::min(all.lowest_volume, one.lowest_volume);
        all.constraints = tighter(all.constraints, one.constraints);
    }
    return all;
}

Constraints update_materials(Domain& domain) {
    ConstraintLanes limits;
    const std::vector<WorkItem>& items = domain.regions.items;
    const auto count = static_cast<std::int64_t>(items.size());
#pragma omp for schedule(runtime) nowait
    for (std::int64_t i = 0; i < count; ++i) {
        update_material(domain.mesh, domain.fields, domain.regions,
                        items[static_cast<std::size_t>(i)], limits);
    }
    return limits.over_all();
}

// One cycle, on every thread of a team. A barrier stands wherever a phase reads what another
// thread has written in the phase before.
Findings run_cycle(Domain& domain, Seams& seams, double dt, const Team& team,
                   std::vector<Findings>& findings) {
    const Mesh& mesh = domain.mesh;
    Fields& fields = domain.fields;
    Findings& own = findings[static_cast<std::size_t>(team.rank)];
    const Range blocks = share(mesh.blocks, team);

    element_forces(mesh, fields, seams, blocks);
    barrier();
    move_nodes(mesh, fields, seams, dt, share(mesh.nodes, team));
    barrier();
    own.lowest_volume = element_kinematics(mesh, fields, dt, blocks);
    barrier();
    own.constraints = update_materials(domain);
    barrier();
    return combined(findings, team);
}

Outcome judge(const Findings& all) {
    if (all.lowest_volume <= 0.0) {
        return Outcome::kNegativeVolume;
    }
    if (all.constraints.viscosity > kViscosityStop) {
        return Outcome::kViscosityOutOfBounds;
    }
    return Outcome::kFinished;
}

// Runs with a team of the size that `seams` are for, if such a team can be had; else does nothing.
// Returns the size of the team.
int run_with(Seams& seams, Domain& domain, std::int64_t last_cycle, const Observer& observer,
             Outcome& result) {
    std::vector<Findings> findings(static_cast<std::size_t>(seams.threads()));
    int formed = 0;
    on_threads(seams.threads(), [&](const Team& team) {
        if (team.rank == 0) {
            formed = team.size;
        }
        if (team.size != seams.threads()) {
            return;
        }
        // Every thread keeps the time for itself, from the same numbers.
        Clock clock = domain.clock;
        Outcome outcome = Outcome::kFinished;
        while (clock.time < kStopTime && clock.cycle < last_cycle &&
               outcome == Outcome::kFinished) {
            clock = next_cycle(clock);
            const Findings all = run_cycle(domain, seams, clock.dt, team, findings);
            constrain(clock, all.constraints);
            outcome = judge(all);
            if (observer) {
                if (team.rank == 0) {
                    observer(domain, clock);
                }
                barrier();
            }
        }
        barrier();  // nobody may still read the clock to start from
        if (team.rank == 0) {
            domain.clock = clock;
            result = outcome;
        }
    });
    return formed;
}

}  // namespace

Outcome run(Domain& domain, std::int64_t last_cycle, const Observer& observer) {
    Outcome outcome = Outcome::kFinished;
    int threads = max_threads();
    while (true) {
        Seams seams(domain.mesh, threads);
        const int formed = run_with(seams, domain, last_cycle, observer, outcome);
        if (formed == threads) {
            return outcome;
        }
        threads = formed;  // the runtime gives less than it promised (a limit, a dynamic team)
    }
}

}  // namespace pinstudy::lulesh
