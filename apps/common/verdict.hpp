// What a program's check of its own result says.
#pragma once

#include <string>

namespace pinstudy {

struct Verdict {
    bool passed = false;
    std::string reason;  // the numbers compared
};

// Prints "Check: passed (REASON)" or "Check: FAILED (REASON)" to standard output; returns the
// program's exit status.
int report(const Verdict& verdict);

}  // namespace pinstudy
