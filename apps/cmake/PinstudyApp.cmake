# A program under study and its tests, in every variant: pinstudy_app() and pinstudy_app_test().

# All that is needed to run a study: the programs without their tests.
add_custom_target(programs)

# pinstudy_app(NAME <app> SOURCES <source>... OPENMP <source>... [PTHREADS])
#
# Builds, for each variant, the program <app>-<variant> and the static library <app>-<variant>-lib
# of all sources except main.cpp, so that tests reach the program's parts. The sources of OPENMP are
# compiled for each variant, the others once for all. With PTHREADS the program forms a team in every
# variant (apps/common/team.hpp), and its serial build is the variant pthreads.
function(pinstudy_app)
  cmake_parse_arguments(PARSE_ARGV 0 arg "PTHREADS" "NAME" "SOURCES;OPENMP")
  set(variants ${PINSTUDY_VARIANTS})
  if(arg_PTHREADS)
    set(variants ${PINSTUDY_TEAM_VARIANTS})
  endif()
  set(main main.cpp)
  if(main.cpp IN_LIST arg_SOURCES)
    pinstudy_once(${arg_NAME}-main main.cpp)
    set(main $<TARGET_OBJECTS:${arg_NAME}-main>)
  endif()
  list(REMOVE_ITEM arg_SOURCES main.cpp)
  list(REMOVE_ITEM arg_OPENMP main.cpp)
  pinstudy_once(${arg_NAME}-once ${arg_SOURCES})
  foreach(variant IN LISTS variants)
    set(program ${arg_NAME}-${variant})
    add_library(${program}-lib STATIC $<TARGET_OBJECTS:${arg_NAME}-once> ${arg_OPENMP})
    target_link_libraries(${program}-lib PUBLIC pinstudy-common-${variant})
    add_executable(${program} ${main})
    target_link_libraries(${program} PRIVATE ${program}-lib)
    target_link_options(${program} PRIVATE ${PINSTUDY_PROGRAM_LINK_FLAGS})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PINSTUDY_BIN_DIR}")
    add_dependencies(programs ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin)
  endforeach()
endfunction()

# pinstudy_once(<target> <source>...): objects that are the same in every variant.
function(pinstudy_once target)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} asks_for_openmp REGEX _OPENMP LIMIT_COUNT 1)
    if(asks_for_openmp)
      message(FATAL_ERROR "${source} asks for _OPENMP: list it with the sources of OPENMP")
    endif()
  endforeach()
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE pinstudy-options)
endfunction()

# pinstudy_app_test(NAME <app> SOURCES <test>... [OPENMP <test>...] [LABELS <label>...]
#                   [TIMEOUT <seconds>] [PTHREADS])
#
# Builds, for each variant, a GoogleTest program of the sources, linked with <app>-<variant>-lib: a
# test of CTest's by the name <app>-<variant>, with the labels between them. The sources of OPENMP are
# compiled for each variant, the others once for all; program_under_test.hpp tells them what they
# test. Tests with other labels or time limits go into a further call with the same NAME. PTHREADS is
# the word of pinstudy_app(); what that did not build is not tested.
function(pinstudy_app_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "PTHREADS" "NAME;TIMEOUT" "SOURCES;OPENMP;LABELS")
  set(variants ${PINSTUDY_VARIANTS})
  if(arg_PTHREADS)
    set(variants ${PINSTUDY_TEAM_VARIANTS})
  endif()
  list(JOIN arg_LABELS "-" labels)
  string(JOIN "-" name ${arg_NAME} ${labels})
  set(parts "")
  if(arg_SOURCES)
    pinstudy_once(test-${name}-once ${arg_SOURCES})
    pinstudy_test_options(test-${name}-once)
    set(parts $<TARGET_OBJECTS:test-${name}-once>)
  endif()
  foreach(variant IN LISTS variants)
    if(NOT TARGET ${arg_NAME}-${variant}-lib)
      continue()
    endif()
    pinstudy_test_program(
      NAME ${name}-${variant}
      SOURCES ${parts} ${arg_OPENMP} "${PROJECT_SOURCE_DIR}/tests/apps/common/program_under_test.cpp"
      LIBRARIES ${arg_NAME}-${variant}-lib
      LABELS ${arg_LABELS}
      TIMEOUT ${arg_TIMEOUT}
    )
    set(program "")
    if(TARGET ${arg_NAME}-${variant})
      set(program "$<TARGET_FILE:${arg_NAME}-${variant}>")
      add_dependencies(test-${name}-${variant} ${arg_NAME}-${variant})
    endif()
    target_compile_definitions(
      test-${name}-${variant} PRIVATE PINSTUDY_VARIANT="${variant}" PINSTUDY_PROGRAM="${program}"
    )
  endforeach()
endfunction()

# pinstudy_test_program(NAME <name> SOURCES <test>... LIBRARIES <library>... [LABELS <label>...]
#                       [TIMEOUT <seconds>])
#
# Builds a GoogleTest program test-<name>, which is one test of CTest's by the name <name>: a process
# for each of its cases would take longer than they.
function(pinstudy_test_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "SOURCES;LIBRARIES;LABELS")
  if(NOT arg_TIMEOUT)
    # For what hangs: beside others, short regions of a team take hundreds of times as long.
    set(arg_TIMEOUT 1200)
  endif()
  add_executable(test-${arg_NAME} ${arg_SOURCES})
  target_link_libraries(
    test-${arg_NAME} PRIVATE ${arg_LIBRARIES} pinstudy-test-common GTest::gtest_main
  )
  pinstudy_test_options(test-${arg_NAME})
  add_test(NAME ${arg_NAME} COMMAND test-${arg_NAME})
  # A thread that spins while it waits takes the CPU from the thread that it waits for, wherever there
  # is other load: beside two busy loops Lulesh's tests took ten times as long.
  set_tests_properties(
    ${arg_NAME} PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "OMP_WAIT_POLICY=passive;KMP_BLOCKTIME=0"
                           LABELS "${arg_LABELS}"
  )
endfunction()

# pinstudy_test_options(<target>): how tests are compiled, which takes longer than to run them: as one
# source, because half of what each would cost are the same headers, and not optimised. What they
# test is.
function(pinstudy_test_options target)
  target_link_libraries(${target} PRIVATE GTest::gtest)
  target_compile_options(${target} PRIVATE -O0)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endfunction()
