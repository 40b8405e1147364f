#include "apps/lulesh/solver.hpp"

#include "apps/lulesh/constants.hpp"
#include "apps/lulesh/force.hpp"
#include "apps/lulesh/kinematics.hpp"
#include "apps/lulesh/material.hpp"
#include "apps/lulesh/motion.hpp"
#include "apps/lulesh/viscosity.hpp"

namespace pinstudy::lulesh {

void run(Domain& domain, std::int64_t last_cycle, const Observer& observer) {
    while (domain.clock.time < kStopTime && domain.clock.cycle < last_cycle) {
        domain.clock = next_cycle(domain.clock);
        const double dt = domain.clock.dt;

        calculate_forces(domain);
        move_nodes(domain, dt);

        calculate_kinematics(domain, dt);
        calculate_viscosity(domain);
        apply_material_properties(domain);
        update_volumes(domain);

        calculate_time_constraints(domain);
        if (observer) {
            observer(domain);
        }
    }
}

}  // namespace pinstudy::lulesh
