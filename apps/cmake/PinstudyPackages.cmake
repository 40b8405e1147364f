# The libraries that are used: CLI11 always, GoogleTest on demand.
#
# Targets: pinstudy::cli11
# Result:  PINSTUDY_BUILD_TESTS

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

set(PINSTUDY_BUILD_TESTS OFF)
if(PINSTUDY_TESTS OR PINSTUDY_TESTS STREQUAL "AUTO")
  find_package(GTest QUIET)
  if(GTest_FOUND)
    set(PINSTUDY_BUILD_TESTS ON)
  elseif(PINSTUDY_TESTS STREQUAL "AUTO")
    message(STATUS "GTest is not found: PINSTUDY_TESTS=AUTO builds without it")
  else()
    message(FATAL_ERROR "PINSTUDY_TESTS is ON but the package GTest is not found: install it, or set "
                        "PINSTUDY_TESTS=OFF")
  endif()
endif()
