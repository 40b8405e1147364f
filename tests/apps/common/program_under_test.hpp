// What the tests of a build are about. Their sources are compiled once for all builds.
#pragma once

namespace pinstudy::testing {

extern const char* const kProgramPath;  // empty where an app has no program, as common
extern const char* const kBuild;        // its name, libgomp for example

}  // namespace pinstudy::testing
