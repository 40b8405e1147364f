// The process's CPUs before anything in it could change them.
#pragma once

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// The CPUs that the process inherited at its start, ascending. libgomp binds the initial
// thread while it is loaded, before main(); this was read before that.
Cpus mask_at_start();

}  // namespace pinstudy::threadmap
