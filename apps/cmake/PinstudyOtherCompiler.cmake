# One wheel has the programs of both compilers: GCC's builds serial, pthreads and libgomp, Clang's build
# libomp. CMake knows one compiler a project, so the other one builds this project once more.

if(NOT PINSTUDY_OTHER_COMPILER)
  return()
endif()
set(pinstudy_other clang++)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(pinstudy_other g++)
endif()
find_program(PINSTUDY_OTHER_CXX ${pinstudy_other})
if(PINSTUDY_OTHER_CXX)
  # A compiler may have the header of OpenMP without its library.
  set(pinstudy_trial "${PROJECT_BINARY_DIR}/openmp.cpp")
  file(WRITE "${pinstudy_trial}" "#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n")
  execute_process(
    COMMAND "${PINSTUDY_OTHER_CXX}" -std=c++20 -fopenmp "${pinstudy_trial}" -o "${pinstudy_trial}.out"
    RESULT_VARIABLE pinstudy_failed
    OUTPUT_QUIET ERROR_QUIET
  )
else()
  set(pinstudy_failed "not installed")
endif()
if(pinstudy_failed)
  message(STATUS "${pinstudy_other} builds no OpenMP programs here: its builds are left out")
  return()
endif()

include(ExternalProject)
set(PINSTUDY_OTHER_DIR "${PROJECT_BINARY_DIR}/other" CACHE PATH "Where the other compiler builds")
ExternalProject_Add(
  pinstudy-other
  SOURCE_DIR "${PROJECT_SOURCE_DIR}"
  BINARY_DIR "${PINSTUDY_OTHER_DIR}"
  PREFIX "${PROJECT_BINARY_DIR}/other-project"
  CMAKE_ARGS
    "-DCMAKE_CXX_COMPILER=${PINSTUDY_OTHER_CXX}"
    "-DCMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH}"
    "-DPINSTUDY_MARCH=${PINSTUDY_MARCH}"
    "-DPINSTUDY_WERROR=${PINSTUDY_WERROR}"
    "-DPINSTUDY_TESTS=${PINSTUDY_TESTS}"
    "-DPINSTUDY_BIN_DIR=${PINSTUDY_BIN_DIR}"
    -DPINSTUDY_WITNESS=OFF
    -DPINSTUDY_COMMAND=OFF
  BUILD_ALWAYS ON
  # Compilers that work one after the other need the memory of one.
  USES_TERMINAL_BUILD ON
  INSTALL_COMMAND ""
)
if(NOT SKBUILD_STATE STREQUAL "editable")
  set(pinstudy_builds libomp)
  if(pinstudy_other STREQUAL "g++")
    set(pinstudy_builds serial|pthreads|libgomp)
  endif()
  install(
    DIRECTORY "${PINSTUDY_BIN_DIR}/"
    DESTINATION "${PINSTUDY_INSTALL_BIN}"
    USE_SOURCE_PERMISSIONS FILES_MATCHING
    REGEX "-(${pinstudy_builds})$"
  )
endif()
