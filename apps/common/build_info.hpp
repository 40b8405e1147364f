// How this program was built, for --version and for whoever reads a record.
#pragma once

#include <string>

namespace pinstudy {

// Lines for --version: program, project version, variant, compiler, flags, OpenMP.
std::string version_text(const std::string& app);

}  // namespace pinstudy
