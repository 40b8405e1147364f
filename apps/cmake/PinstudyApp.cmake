# A program under study and its tests, in every build: pinstudy_app() and pinstudy_app_test().

# All that is needed to run a study: the programs without their tests.
add_custom_target(programs)

# pinstudy_builds(<result>): the builds of a program, with PTHREADS or without.
macro(pinstudy_builds result)
  set(${result} ${PINSTUDY_BUILDS})
  if(arg_PTHREADS)
    set(${result} ${PINSTUDY_TEAM_BUILDS})
  endif()
endmacro()

# pinstudy_app(NAME <app> SOURCES <source>... [OPENMP <source>...] [PTHREADS])
#
# Builds, for each build, the program <app>-<build> of main.cpp and the static library
# <app>-<build>-lib of the other sources, so that tests reach the program's parts. The sources of
# OPENMP are compiled for each build, all others once. With PTHREADS the program forms a team in
# every build (apps/common/team.hpp), and its serial build is the build pthreads.
function(pinstudy_app)
  cmake_parse_arguments(PARSE_ARGV 0 arg "PTHREADS" "NAME" "SOURCES;OPENMP")
  pinstudy_builds(builds)
  add_library(${arg_NAME}-main OBJECT main.cpp)
  add_library(${arg_NAME}-once OBJECT ${arg_SOURCES})
  target_link_libraries(${arg_NAME}-main PRIVATE pinstudy::flags)
  target_link_libraries(${arg_NAME}-once PRIVATE pinstudy::flags pinstudy::json)
  foreach(build IN LISTS builds)
    set(program ${arg_NAME}-${build})
    add_library(${program}-lib STATIC $<TARGET_OBJECTS:${arg_NAME}-once> ${arg_OPENMP})
    target_link_libraries(${program}-lib PUBLIC pinstudy-common-${build})
    add_executable(${program} $<TARGET_OBJECTS:${arg_NAME}-main>)
    target_link_libraries(${program} PRIVATE ${program}-lib)
    target_link_options(${program} PRIVATE ${PINSTUDY_PROGRAM_LINK_FLAGS})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PINSTUDY_BIN_DIR}")
    add_dependencies(programs ${program})
    if(NOT SKBUILD_STATE STREQUAL "editable")
      install(TARGETS ${program} RUNTIME DESTINATION "${PINSTUDY_INSTALL_BIN}")
    endif()
  endforeach()
endfunction()

# pinstudy_app_test(NAME <app> SOURCES <test>... [OPENMP <test>...] [LABELS <label>...] [PTHREADS])
#
# Builds, for each build, a GoogleTest program of the sources, linked with <app>-<build>-lib: a
# test of CTest's by the name <app>-<build>, with the labels between them, because a process for
# each of its cases would take longer than they. The sources of OPENMP are compiled for each build,
# the others once for all; program_under_test.hpp names the tested program. Tests with other labels
# go into a further call with the same NAME. Those with the label slow are built by the target
# slow-tests alone.
function(pinstudy_app_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "PTHREADS" "NAME" "SOURCES;OPENMP;LABELS")
  pinstudy_builds(builds)
  string(JOIN "-" name ${arg_NAME} ${arg_LABELS})
  set(once "")
  set(objects "")
  if(arg_SOURCES)
    set(objects test-${name}-once)
    add_library(${objects} OBJECT ${arg_SOURCES})
    target_link_libraries(${objects} PRIVATE pinstudy::flags)
    pinstudy_test_options(${objects})
    set(once $<TARGET_OBJECTS:${objects}>)
  endif()
  foreach(build IN LISTS builds)
    set(test test-${name}-${build})
    add_executable(
      ${test} ${once} ${arg_OPENMP}
              "${PROJECT_SOURCE_DIR}/tests/apps/common/program_under_test.cpp"
    )
    target_link_libraries(
      ${test} PRIVATE pinstudy-test-common ${arg_NAME}-${build}-lib GTest::gtest_main
    )
    pinstudy_test_options(${test})
    set(program "")
    if(TARGET ${arg_NAME}-${build})
      set(program "$<TARGET_FILE:${arg_NAME}-${build}>")
      add_dependencies(${test} ${arg_NAME}-${build})
    endif()
    if("slow" IN_LIST arg_LABELS)
      set_target_properties(${test} ${objects} PROPERTIES EXCLUDE_FROM_ALL ON)
      add_dependencies(slow-tests ${test})
    endif()
    target_compile_definitions(
      ${test} PRIVATE PINSTUDY_BUILD="${build}" PINSTUDY_PROGRAM="${program}"
    )
    add_test(NAME ${name}-${build} COMMAND ${test})
    # The time is for what hangs: beside others, short regions of a team take hundreds of times as
    # long. A thread that spins while it waits takes the CPU from the thread that it waits for,
    # wherever there is other load: beside two busy loops Lulesh's tests took ten times as long. Where
    # libomp still spins, for the end of a dynamic schedule, it yields the CPU at every turn, and gets
    # it back when all others had theirs: beside four loops 60 times as long as without yielding.
    set_tests_properties(
      ${name}-${build}
      PROPERTIES TIMEOUT 1200
                 ENVIRONMENT "OMP_WAIT_POLICY=passive;KMP_BLOCKTIME=0;KMP_USE_YIELD=0"
                 LABELS "${arg_LABELS}"
    )
  endforeach()
endfunction()

# pinstudy_test_options(<target>): how tests are compiled, which takes longer than to run them: as one
# source, because half of what each would cost are the same headers, and not optimised. What they
# test is.
function(pinstudy_test_options target)
  target_link_libraries(${target} PRIVATE GTest::gtest)
  target_compile_options(${target} PRIVATE -O0)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endfunction()
