# find_package(Assay): the imported program Assay::assay, and assay_add_suite().
get_filename_component(assay_prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set(Assay_PROGRAM ${assay_prefix}/bin/assay)
if(NOT EXISTS ${Assay_PROGRAM})
  set(Assay_FOUND FALSE)
  set(Assay_NOT_FOUND_MESSAGE "${Assay_PROGRAM} isn't there")
  return()
endif()
if(NOT TARGET Assay::assay)
  add_executable(Assay::assay IMPORTED)
  set_target_properties(Assay::assay PROPERTIES IMPORTED_LOCATION ${Assay_PROGRAM})
endif()

# assay_add_suite(NAME SUITE s (CONVERTER name[@version] | CONVERTER_CMD command) [OPTIONS label] [LABELS l…] [TIMEOUT s])
#
# A test NAME.<case> for each case of the suite (or of the pattern on case names) SUITE, in all of its option sets or in
# OPTIONS alone. CTest shows a test as skipped where every verdict is `unsupported`, and red with the finding; a suite's
# expected failures hold. Each test has a database of its own, so that they run at the same time. TIMEOUT is CTest's, for
# one test (600). CONVERTER_CMD is one string, quoted as for a shell.
# The cases are listed when the project is configured; after a change of the suite, configure again.
function(assay_add_suite name)
  cmake_parse_arguments(ARG "" "SUITE;CONVERTER;CONVERTER_CMD;OPTIONS;TIMEOUT" "LABELS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_SUITE OR (DEFINED ARG_CONVERTER AND DEFINED ARG_CONVERTER_CMD)
     OR NOT (DEFINED ARG_CONVERTER OR DEFINED ARG_CONVERTER_CMD))
    message(FATAL_ERROR "assay_add_suite(${name} …) takes SUITE and one of CONVERTER and CONVERTER_CMD")
  endif()
  execute_process(COMMAND ${Assay_PROGRAM} list ${ARG_SUITE} OUTPUT_VARIABLE cases ERROR_VARIABLE complaint
                  RESULT_VARIABLE code OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "assay_add_suite(${name} …): ${complaint}")
  endif()
  if(DEFINED ARG_CONVERTER)
    set(words --converter ${ARG_CONVERTER})
  else()
    set(words --converter-cmd ${ARG_CONVERTER_CMD})
  endif()
  if(DEFINED ARG_OPTIONS)
    list(APPEND words --options ${ARG_OPTIONS})
  endif()
  if(NOT DEFINED ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/assay/${name})
  file(MAKE_DIRECTORY ${folder})
  string(REPLACE "\n" ";" cases "${cases}")
  set(index 0)
  foreach(case IN LISTS cases)
    add_test(NAME "${name}.${case}"
      COMMAND ${Assay_PROGRAM} run ${ARG_SUITE} --only ${case} ${words} --jobs 1 --skip-unavailable --db ${folder}/${index}.db)
    set_tests_properties("${name}.${case}" PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT})
    math(EXPR index "${index} + 1")
  endforeach()
endfunction()
