# The libraries that are used: CLI11 and nlohmann/json always, GoogleTest on demand.
#
# Targets: pinstudy::cli11, pinstudy::json
# Result:  PINSTUDY_BUILD_TESTS

# pinstudy_headers(<target> <package> <imported target> <header> <where to get it>): a library of
# headers, by its CMake files, or by its header alone, because some distributions ship just that.
function(pinstudy_headers target package imported header where)
  find_package(${package} CONFIG QUIET)
  if(TARGET ${imported})
    get_target_property(include ${imported} INTERFACE_INCLUDE_DIRECTORIES)
  else()
    string(TOUPPER "PINSTUDY_${target}_INCLUDE_DIR" variable)
    find_path(${variable} ${header} DOC "Directory that holds ${header}")
    mark_as_advanced(${variable})
    set(include "${${variable}}")
  endif()
  if(NOT include)
    message(FATAL_ERROR "${package} (header ${header}) is not found: install it (${where}), or set "
                        "${variable}")
  endif()
  add_library(pinstudy-${target} INTERFACE)
  add_library(pinstudy::${target} ALIAS pinstudy-${target})
  target_include_directories(pinstudy-${target} SYSTEM INTERFACE "${include}")
endfunction()

pinstudy_headers(cli11 CLI11 CLI11::CLI11 CLI/CLI.hpp
                 "Debian and Ubuntu: libcli11-dev; Fedora and RHEL with EPEL: cli11-devel"
)
pinstudy_headers(json nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp
                 "Debian and Ubuntu: nlohmann-json3-dev; Fedora and RHEL with EPEL: json-devel"
)

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
