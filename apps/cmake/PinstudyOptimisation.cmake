# The flags that decide what a program computes and how fast: the same for our own programs and for
# the originals that are built beside them (apps/originals), so that both can be compared.
#
# Result: PINSTUDY_OPTIMISATION, beside those of the build type

set(PINSTUDY_MARCH "native" CACHE STRING
    "Value of -march for the programs (e.g. native, x86-64-v3); empty for the compiler's default")
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Contraction of a*b+c to one rounding (FMA) changes the last bits of a result, so both compilers
# are told the same. "fast" and "off" are the only two values that mean the same to both: GCC
# before 14 treats "on" as "off", Clang's own default is "on". "fast" is what GCC does by itself.
# Nobody reads errno after sqrt() or cbrt(); not setting it changes no value. Everything else of
# -ffast-math stays off: it would change results.
set(PINSTUDY_OPTIMISATION -ffp-contract=fast -fno-math-errno)
include(CheckCXXCompilerFlag)
if(PINSTUDY_MARCH)
  string(MAKE_C_IDENTIFIER "pinstudy_march_${PINSTUDY_MARCH}" pinstudy_march_accepted)
  check_cxx_compiler_flag("-march=${PINSTUDY_MARCH}" ${pinstudy_march_accepted})
  set(pinstudy_cpu "-march=${PINSTUDY_MARCH}")
  if(NOT ${pinstudy_march_accepted} AND PINSTUDY_MARCH STREQUAL "native")
    # Clang 14 on Arm takes this one alone (github.com/AndyGrant/Ethereal, issue 194).
    set(pinstudy_cpu -mcpu=native)
    set(pinstudy_march_accepted pinstudy_mcpu_native)
    check_cxx_compiler_flag(${pinstudy_cpu} ${pinstudy_march_accepted})
  endif()
  if(NOT ${pinstudy_march_accepted})
    message(FATAL_ERROR "PINSTUDY_MARCH: ${CMAKE_CXX_COMPILER} does not accept "
                        "-march=${PINSTUDY_MARCH}; give another value, or an empty one")
  endif()
  list(APPEND PINSTUDY_OPTIMISATION "${pinstudy_cpu}")
endif()
