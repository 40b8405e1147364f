# A program under study and its tests, in every variant: pinstudy_app() and pinstudy_app_test().

include(GoogleTest)

# All that is needed to run a study: the programs without their tests.
add_custom_target(programs)

# pinstudy_app(NAME <app> SOURCES main.cpp <other>... [PTHREADS] [GOOGLE_BENCHMARK])
#
# Builds, for each variant, the program <app>-<variant> and the static library <app>-<variant>-lib
# of all sources except main.cpp, so that tests reach the program's parts. With
# PTHREADS the program forms a team in every variant (apps/common/team.hpp), and its serial build is
# the variant pthreads. With GOOGLE_BENCHMARK the program times by that library
# (apps/common/timing.hpp); nothing is built without it.
function(pinstudy_app)
  cmake_parse_arguments(
    PARSE_ARGV 0 arg "PTHREADS;GOOGLE_BENCHMARK" "NAME" "SOURCES"
  )
  set(variants ${PINSTUDY_VARIANTS})
  if(arg_PTHREADS)
    set(variants ${PINSTUDY_TEAM_VARIANTS})
  endif()
  set(link_flags ${PINSTUDY_PROGRAM_LINK_FLAGS})
  set(libraries "")
  if(arg_GOOGLE_BENCHMARK)
    if(NOT PINSTUDY_HAVE_GOOGLE_BENCHMARK)
      message(STATUS "${arg_NAME} needs Google Benchmark: it is not built")
      return()
    endif()
    set(link_flags ${PINSTUDY_BENCHMARK_LINK_FLAGS})
    set(libraries pinstudy-timing)
  endif()
  set(parts ${arg_SOURCES})
  list(REMOVE_ITEM parts main.cpp)
  foreach(variant IN LISTS variants)
    set(program ${arg_NAME}-${variant})
    add_library(${program}-lib STATIC ${parts})
    target_link_libraries(${program}-lib PUBLIC pinstudy-common-${variant} ${libraries})
    add_executable(${program} main.cpp)
    target_link_libraries(${program} PRIVATE ${program}-lib)
    target_link_options(${program} PRIVATE ${link_flags})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PINSTUDY_BIN_DIR}")
    add_dependencies(programs ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin)
  endforeach()
endfunction()

# pinstudy_app_test(NAME <app> SOURCES <test>... [LABELS <label>...] [TIMEOUT <seconds>] [PTHREADS])
#
# Builds, for each variant, a GoogleTest program of the sources, linked with <app>-<variant>-lib,
# and registers its tests as <app>-<variant>.<suite>.<test>. The sources find the path of the
# program in PINSTUDY_PROGRAM and the name of its variant in PINSTUDY_VARIANT (both text). Tests
# with other labels or time limits go into a further call with the same NAME. PTHREADS is the word
# of pinstudy_app(); what that did not build is not tested.
function(pinstudy_app_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "PTHREADS" "NAME;TIMEOUT" "SOURCES;LABELS")
  set(variants ${PINSTUDY_VARIANTS})
  if(arg_PTHREADS)
    set(variants ${PINSTUDY_TEAM_VARIANTS})
  endif()
  set(suffix "")
  if(arg_LABELS)
    list(JOIN arg_LABELS "-" suffix)
    string(PREPEND suffix "-")
  endif()
  foreach(variant IN LISTS variants)
    if(NOT TARGET ${arg_NAME}-${variant}-lib)
      continue()
    endif()
    set(test_program test-${arg_NAME}${suffix}-${variant})
    pinstudy_test_program(
      NAME ${test_program}
      PREFIX ${arg_NAME}-${variant}
      SOURCES ${arg_SOURCES}
      LIBRARIES ${arg_NAME}-${variant}-lib
      HEADER pinstudy-test-header-${variant}
      LABELS ${arg_LABELS}
      TIMEOUT ${arg_TIMEOUT}
    )
    target_compile_definitions(${test_program} PRIVATE PINSTUDY_VARIANT="${variant}")
    if(TARGET ${arg_NAME}-${variant})
      target_compile_definitions(
        ${test_program} PRIVATE PINSTUDY_PROGRAM="$<TARGET_FILE:${arg_NAME}-${variant}>"
      )
      add_dependencies(${test_program} ${arg_NAME}-${variant})
    endif()
  endforeach()
endfunction()

# pinstudy_test_program(NAME <program> PREFIX <text> SOURCES <test>... LIBRARIES <library>...
#                       HEADER <target> [LABELS <label>...] [TIMEOUT <seconds>])
#
# Builds a GoogleTest program, and registers its tests as <text>.<suite>.<test>. The target HEADER,
# compiled with the same flags, has GoogleTest's header precompiled.
function(pinstudy_test_program)
  cmake_parse_arguments(
    PARSE_ARGV 0 arg "" "NAME;PREFIX;HEADER;TIMEOUT" "SOURCES;LIBRARIES;LABELS"
  )
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  # Several tests run at a time: a team that spins while it waits would wait for the others' turns.
  set(properties TIMEOUT ${arg_TIMEOUT} ENVIRONMENT OMP_WAIT_POLICY=passive)
  if(arg_LABELS)
    list(APPEND properties LABELS "${arg_LABELS}")
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(
    ${arg_NAME} PRIVATE ${arg_LIBRARIES} pinstudy-test-common GTest::gtest_main
  )
  target_precompile_headers(${arg_NAME} REUSE_FROM ${arg_HEADER})
  gtest_discover_tests(
    ${arg_NAME}
    TEST_PREFIX "${arg_PREFIX}."
    DISCOVERY_MODE PRE_TEST
    PROPERTIES ${properties}
  )
endfunction()
