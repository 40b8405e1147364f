// What all tests include, precompiled (CMakeLists.txt); a target must have a source.
#include <gtest/gtest.h>
