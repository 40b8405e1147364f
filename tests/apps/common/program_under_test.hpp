// What the tests of a variant are about. Their sources are compiled once for all variants.
#pragma once

namespace pinstudy::testing {

extern const char* const kProgramPath;  // empty where an app has no program, as common
extern const char* const kVariant;      // its name, libgomp for example

}  // namespace pinstudy::testing
