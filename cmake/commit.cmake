# Writes OUTPUT, a header that holds the commit of the source tree ROOT, "-changed" behind it where tracked files differ
# from it; "unknown" outside a repository.
execute_process(COMMAND git describe --always --abbrev=40 --exclude=* --dirty=-changed
  WORKING_DIRECTORY ${ROOT} OUTPUT_VARIABLE commit RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed OR commit STREQUAL "")
  set(commit unknown)
endif()
set(text "#pragma once\n#define ASSAY_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
