# What is installed beside the programs and the Python package, which scikit-build-core packs itself: the
# command, what shells, man and editors read, the documentation, and headers for programs that mark
# their regions.

if(NOT PINSTUDY_COMMAND)
  return()
endif()
install(PROGRAMS bin/pinstudy DESTINATION "${PINSTUDY_INSTALL_BIN}")
if(SKBUILD_STATE STREQUAL "editable")
  return()
endif()
install(FILES README.md LICENSE DESTINATION "${PINSTUDY_INSTALL_PREFIX}share/doc/pinstudy")
install(
  DIRECTORY docs
  DESTINATION "${PINSTUDY_INSTALL_PREFIX}share/doc/pinstudy" FILES_MATCHING
  PATTERN *.md
  PATTERN *.png
)
install(FILES include/pinstudy.h include/pinstudy.f90 include/pinstudy_regions.py
        DESTINATION "${PINSTUDY_INSTALL_PREFIX}include"
)
# The interpreter that builds a wheel has what these pages are made with.
set(pinstudy_python python3)
if(Python_EXECUTABLE)
  set(pinstudy_python "${Python_EXECUTABLE}")
endif()
set(pinstudy_pages "${PROJECT_BINARY_DIR}/share")
install(
  CODE "execute_process(
  COMMAND \"${pinstudy_python}\" \"${PROJECT_SOURCE_DIR}/share/pages.py\" \"${pinstudy_pages}\"
  RESULT_VARIABLE pinstudy_failed ERROR_VARIABLE pinstudy_why OUTPUT_QUIET
)
if(pinstudy_failed)
  message(STATUS \"No man pages, completion and schema: \${pinstudy_why}\")
endif()"
)
install(DIRECTORY "${pinstudy_pages}/" DESTINATION "${PINSTUDY_INSTALL_PREFIX}share" OPTIONAL)
if(DEFINED SKBUILD)
  install(FILES "${PROJECT_BINARY_DIR}/schema.json" DESTINATION pinstudy/configs OPTIONAL)
endif()
