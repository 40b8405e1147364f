#include "apps/common/verdict.hpp"

#include <cstdio>

#include "apps/common/exit_status.hpp"

namespace pinstudy {

int report(const Verdict& verdict) {
    std::printf("Check: %s (%s)\n", verdict.passed ? "passed" : "FAILED", verdict.reason.c_str());
    return verdict.passed ? kExitOk : kExitCheckFailed;
}

}  // namespace pinstudy
