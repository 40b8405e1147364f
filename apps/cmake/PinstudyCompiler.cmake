# What every translation unit is compiled with, and which builds this compiler builds.
#
# Targets: pinstudy::flags, and on top of it pinstudy::flags-<build>
# Result:  PINSTUDY_BUILDS, the builds to build with this compiler
#          PINSTUDY_TEAM_BUILDS, those of programs that form a team without OpenMP, too
#          PINSTUDY_ALL_BUILDS, both
#          PINSTUDY_FLAGS_<build>, the same flags as text, for --version
#          PINSTUDY_PROGRAM_LINK_FLAGS, further link flags for what is installed
#          PINSTUDY_NOT_OPTIMISED, options of sources that take longer to compile than to run

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(pinstudy_runtime libgomp)
  set(pinstudy_default_builds serial libgomp)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(pinstudy_runtime libomp)
  set(pinstudy_default_builds libomp)
else()
  message(FATAL_ERROR "pinstudy is built with GCC or Clang, not ${CMAKE_CXX_COMPILER_ID}: "
                      "set CMAKE_CXX_COMPILER to g++ or clang++")
endif()
set(PINSTUDY_BUILDS "${pinstudy_default_builds}" CACHE STRING
    "Builds to build: serial (no OpenMP) and ${pinstudy_runtime} (this compiler's runtime)")
foreach(build IN LISTS PINSTUDY_BUILDS)
  if(NOT build MATCHES "^(serial|${pinstudy_runtime})$")
    message(FATAL_ERROR "PINSTUDY_BUILDS: ${CMAKE_CXX_COMPILER_ID} builds serial and "
                        "${pinstudy_runtime}, not '${build}'")
  endif()
endforeach()
# Programs whose serial build forms its team of C++ threads are pthreads in it: what they are, not
# what they lack, and another build of the common parts, because --version says it.
set(PINSTUDY_TEAM_BUILDS "${PINSTUDY_BUILDS}")
list(TRANSFORM PINSTUDY_TEAM_BUILDS REPLACE "^serial$" "pthreads")
set(PINSTUDY_ALL_BUILDS ${PINSTUDY_BUILDS} ${PINSTUDY_TEAM_BUILDS})
list(REMOVE_DUPLICATES PINSTUDY_ALL_BUILDS)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# A runtime library found outside the system's directories (Spack, modules) must still be found
# after installation.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

include(PinstudyOptimisation)
set(pinstudy_flags ${PINSTUDY_OPTIMISATION})
include(CheckCXXSourceCompiles)
if(PINSTUDY_SANITIZE)
  string(MAKE_C_IDENTIFIER "pinstudy_sanitize_${PINSTUDY_SANITIZE}" pinstudy_sanitize_links)
  set(CMAKE_REQUIRED_FLAGS "-fsanitize=${PINSTUDY_SANITIZE}")
  check_cxx_source_compiles("int main() { return 0; }" ${pinstudy_sanitize_links})
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT ${pinstudy_sanitize_links})
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} cannot link with -fsanitize=${PINSTUDY_SANITIZE}: "
                        "install its sanitizer libraries (GCC: libasan, libubsan; Clang on Debian "
                        "and Ubuntu: libclang-rt-<version>-dev, on Fedora and RHEL: compiler-rt)")
  endif()
  list(APPEND pinstudy_flags "-fsanitize=${PINSTUDY_SANITIZE}" -fno-sanitize-recover=all
       -fno-omit-frame-pointer)
endif()

# With the C++ library inside, a program starts with a quarter of the instructions: its thousands of
# symbols need not be bound. Sanitizers want the shared one; some distributions have only that.
set(PINSTUDY_PROGRAM_LINK_FLAGS "")
if(NOT PINSTUDY_SANITIZE)
  set(CMAKE_REQUIRED_FLAGS -static-libstdc++)
  check_cxx_source_compiles(
    "#include <iostream>\nint main() { std::cout << 1; }" pinstudy_static_libstdcxx_links
  )
  unset(CMAKE_REQUIRED_FLAGS)
  if(pinstudy_static_libstdcxx_links)
    set(PINSTUDY_PROGRAM_LINK_FLAGS -static-libstdc++ -static-libgcc)
  endif()
endif()

# For what takes long to compile and no time to run. glibc's checks want optimisation.
set(PINSTUDY_NOT_OPTIMISED -O0 -U_FORTIFY_SOURCE)

set(pinstudy_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # GCC does not count signs to -Wconversion; OpenMP's loops count with signed numbers, and index
  # vectors with them.
  list(APPEND pinstudy_warnings -Wno-sign-conversion)
else()
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # It is wrong for a literal and a std::string that are put together (GCC bug 105329).
    list(APPEND pinstudy_warnings -Wno-restrict)
  endif()
  if(PINSTUDY_SANITIZE)
    # GCC's manual: with sanitizers this warning may be wrong; it is, for <regex> (GCC bug 105562).
    list(APPEND pinstudy_warnings -Wno-maybe-uninitialized)
  endif()
endif()
if(PINSTUDY_WERROR)
  list(APPEND pinstudy_warnings -Werror)
endif()

add_library(pinstudy-flags INTERFACE)
add_library(pinstudy::flags ALIAS pinstudy-flags)
target_include_directories(pinstudy-flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(pinstudy-flags INTERFACE ${pinstudy_flags} ${pinstudy_warnings})
if(PINSTUDY_SANITIZE)
  target_link_options(pinstudy-flags INTERFACE "-fsanitize=${PINSTUDY_SANITIZE}")
endif()

foreach(build IN LISTS PINSTUDY_ALL_BUILDS)
  add_library(pinstudy-flags-${build} INTERFACE)
  add_library(pinstudy::flags-${build} ALIAS pinstudy-flags-${build})
  target_link_libraries(pinstudy-flags-${build} INTERFACE pinstudy::flags)
  if(build MATCHES "^(serial|pthreads)$")
    set(pinstudy_openmp_flags "")
    target_compile_options(pinstudy-flags-${build} INTERFACE -Wno-unknown-pragmas)
    if(build STREQUAL "pthreads")
      set(THREADS_PREFER_PTHREAD_FLAG ON)
      find_package(Threads REQUIRED)
      target_link_libraries(pinstudy-flags-pthreads INTERFACE Threads::Threads)
    endif()
  else()
    find_package(OpenMP COMPONENTS CXX)
    if(NOT OpenMP_CXX_FOUND)
      message(FATAL_ERROR "${CMAKE_CXX_COMPILER} cannot build OpenMP programs: install its runtime "
                          "(Debian and Ubuntu: libomp-dev; Fedora and RHEL: libomp-devel)")
    endif()
    set(pinstudy_openmp_flags ${OpenMP_CXX_FLAGS})
    target_link_libraries(pinstudy-flags-${build} INTERFACE OpenMP::OpenMP_CXX)
  endif()

  string(TOUPPER "${CMAKE_BUILD_TYPE}" pinstudy_build_type)
  set(PINSTUDY_FLAGS_${build}
      "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${pinstudy_build_type}}" ${pinstudy_flags}
      ${pinstudy_openmp_flags}
  )
  list(JOIN PINSTUDY_FLAGS_${build} " " PINSTUDY_FLAGS_${build})
  string(STRIP "${PINSTUDY_FLAGS_${build}}" PINSTUDY_FLAGS_${build})
endforeach()
