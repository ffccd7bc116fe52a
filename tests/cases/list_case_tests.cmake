# Writes add_test() lines for the cases of the suites `seeds` and `default`.
execute_process(COMMAND ${ASSAY} list seeds default OUTPUT_VARIABLE names RESULT_VARIABLE code
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "assay list seeds default: exit code ${code}")
endif()
string(REPLACE "\n" ";" names "${names}")
file(MAKE_DIRECTORY ${FOLDER}/db)
set(lines "")
set(index 0)
foreach(name IN LISTS names)
  string(REGEX REPLACE "/.*" "" family "${name}")
  # A database for each test: tests run at the same time, and a database has one writer.
  string(APPEND lines
    "add_test([=[case.${name}]=] ${ASSAY} run [=[${name}]=] --jobs 1 --db ${FOLDER}/db/${index}.db)\n"
    "set_tests_properties([=[case.${name}]=] PROPERTIES LABELS \"case;${family}\" SKIP_RETURN_CODE 77 TIMEOUT 120)\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "${lines}")
