// The frame of a program: whatever goes wrong is one line and an exit status.
#pragma once

#include <cstdio>
#include <exception>

#include "apps/common/exit_status.hpp"

namespace pinstudy {

// Returns what run(argc, argv) returns; what it throws is told with the program's name before it.
template <typename Run>
int run_program(const char* name, const Run& run, int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return kExitFailed;
    }
}

}  // namespace pinstudy
