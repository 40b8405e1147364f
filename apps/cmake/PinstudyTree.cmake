# What is installed beside the programs: the Python tree in PREFIX/lib/pinstudy, the command that
# starts it, and the documentation. bin and lib are no options, because the tree looks for the
# programs in ../../bin, and the command for the tree in ../lib/pinstudy.

if(NOT PINSTUDY_PYTHON_TREE)
  return()
endif()
if(PINSTUDY_PYTHON AND NOT IS_ABSOLUTE "${PINSTUDY_PYTHON}")
  message(FATAL_ERROR "PINSTUDY_PYTHON: ${PINSTUDY_PYTHON} is no absolute path")
endif()

set(pinstudy_tree lib/pinstudy)
set(pinstudy_packages base configs runners analysis pinstudy)

# A module that an older version left there would still be imported; what an administrator has added,
# as a site's file, stays. The prefix is that of cmake --install, not of the configuration.
foreach(package IN LISTS pinstudy_packages)
  install(
    CODE "file(GLOB_RECURSE pinstudy_old
     \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${pinstudy_tree}/${package}/*.py\"
     \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${pinstudy_tree}/${package}/*.pyc\")
if(pinstudy_old)
  file(REMOVE \${pinstudy_old})
endif()"
  )
endforeach()
install(
  DIRECTORY ${pinstudy_packages}
  DESTINATION ${pinstudy_tree}
  PATTERN __pycache__ EXCLUDE
  PATTERN *.py[cod] EXCLUDE
  PATTERN configs/schema.json EXCLUDE
  PATTERN configs/spack EXCLUDE
  PATTERN runners/witness EXCLUDE
  PATTERN runners/vm/guest EXCLUDE
)
install(PROGRAMS runners/vm/guest/init runners/vm/guest/start.sh
        DESTINATION ${pinstudy_tree}/runners/vm/guest
)
install(PROGRAMS bin/pinstudy DESTINATION bin)

# Editors look for the schema beside the studies; everything else does without it.
set(pinstudy_schema_python python3)
if(PINSTUDY_PYTHON)
  set(pinstudy_schema_python "${PINSTUDY_PYTHON}")
endif()
install(
  CODE "execute_process(
  COMMAND \"${pinstudy_schema_python}\" -m tools.study_schema
          \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${pinstudy_tree}/configs/schema.json\"
  WORKING_DIRECTORY \"${PROJECT_SOURCE_DIR}\"
  RESULT_VARIABLE pinstudy_schema
  ERROR_QUIET
)
if(NOT pinstudy_schema STREQUAL \"0\")
  message(STATUS \"No schema for editors: ${pinstudy_schema_python} could not write it\")
endif()"
)

# What else is no copy: which interpreter bin/pinstudy is to use.
if(PINSTUDY_PYTHON)
  file(WRITE "${PROJECT_BINARY_DIR}/interpreter" "${PINSTUDY_PYTHON}\n")
  install(FILES "${PROJECT_BINARY_DIR}/interpreter" DESTINATION ${pinstudy_tree})
  # Where nobody may write, modules that are not compiled are compiled at each start.
  list(JOIN pinstudy_packages " " pinstudy_packages)
  install(
    CODE "foreach(package IN ITEMS ${pinstudy_packages})
  execute_process(
    COMMAND \"${PINSTUDY_PYTHON}\" -m compileall -q -s \"\$ENV{DESTDIR}\" -p /
            \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${pinstudy_tree}/\${package}\"
    COMMAND_ERROR_IS_FATAL ANY
  )
endforeach()"
  )
else()
  install(
    CODE "file(REMOVE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${pinstudy_tree}/interpreter\")"
  )
endif()

install(FILES README.md LICENSE DESTINATION share/doc/pinstudy)
install(DIRECTORY docs DESTINATION share/doc/pinstudy FILES_MATCHING PATTERN *.md PATTERN *.png)
# For programs that mark their regions.
install(FILES include/pinstudy.h include/pinstudy.f90 include/pinstudy_regions.py DESTINATION include)
