# The libraries that are used: CLI11 always, GoogleTest and Google Benchmark on demand.
#
# Targets: pinstudy::cli11
# Result:  PINSTUDY_BUILD_TESTS, PINSTUDY_HAVE_GOOGLE_BENCHMARK
#          PINSTUDY_BENCHMARK_LINK_FLAGS, further link flags for programs with Google Benchmark

find_package(CLI11 CONFIG QUIET)
if(TARGET CLI11::CLI11)
  get_target_property(pinstudy_cli11_include CLI11::CLI11 INTERFACE_INCLUDE_DIRECTORIES)
else()
  # Some distributions ship the header without its CMake files.
  find_path(PINSTUDY_CLI11_INCLUDE_DIR CLI/CLI.hpp DOC "Directory that holds CLI/CLI.hpp")
  mark_as_advanced(PINSTUDY_CLI11_INCLUDE_DIR)
  set(pinstudy_cli11_include "${PINSTUDY_CLI11_INCLUDE_DIR}")
endif()
if(NOT pinstudy_cli11_include)
  message(FATAL_ERROR "CLI11 (header CLI/CLI.hpp) is not found: install it (Debian and Ubuntu: "
                      "libcli11-dev; Fedora and RHEL with EPEL: cli11-devel), or set "
                      "PINSTUDY_CLI11_INCLUDE_DIR")
endif()
add_library(pinstudy-cli11 INTERFACE)
add_library(pinstudy::cli11 ALIAS pinstudy-cli11)
target_include_directories(pinstudy-cli11 SYSTEM INTERFACE "${pinstudy_cli11_include}")

# pinstudy_optional(<option> <package> <result>): applies the AUTO, ON, OFF convention.
macro(pinstudy_optional option package result)
  set(${result} OFF)
  if(${option})
    find_package(${package} QUIET)
    if(${package}_FOUND)
      set(${result} ON)
    elseif(${option} STREQUAL "AUTO")
      message(STATUS "${package} is not found: ${option}=AUTO builds without it")
    else()
      message(FATAL_ERROR "${option} is ON but the package ${package} is not found: install it, "
                          "or set ${option}=OFF")
    endif()
  endif()
endmacro()

# if() takes the word AUTO for the name of a variable.
set(AUTO ON)
pinstudy_optional(PINSTUDY_TESTS GTest PINSTUDY_BUILD_TESTS)
pinstudy_optional(PINSTUDY_GOOGLE_BENCHMARK benchmark PINSTUDY_HAVE_GOOGLE_BENCHMARK)
unset(AUTO)

# A shared Google Benchmark brings the shared C++ library; a program that had another one inside
# would have two. Debian, Ubuntu and Fedora have the shared one only.
set(PINSTUDY_BENCHMARK_LINK_FLAGS "")
if(PINSTUDY_HAVE_GOOGLE_BENCHMARK)
  get_target_property(pinstudy_benchmark_type benchmark::benchmark TYPE)
  if(pinstudy_benchmark_type STREQUAL "STATIC_LIBRARY")
    set(PINSTUDY_BENCHMARK_LINK_FLAGS ${PINSTUDY_PROGRAM_LINK_FLAGS})
  endif()
endif()
