// What the process was allowed before anything in it could change that.
#pragma once

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// The CPUs that the process was given by whoever started it, ascending. libgomp binds the initial
// thread while it is loaded, before main(); this was read before that.
Cpus mask_at_start();

}  // namespace pinstudy::threadmap
