# What makes a build from nothing cheap: the sources of a target are compiled in batches, each as if it were one file, and
# the headers that most of them include are compiled once. A change compiles its whole batch again, so whoever has a
# compiler cache, which is whoever changes Assay, gets one object per source (ASSAY_BATCHES in the environment of
# ./assay says which). Both must compile: names in anonymous namespaces differ within a room, and a source includes what it
# uses.
set(assay_batches_default ON)
if(ASSAY_CCACHE)
  set(assay_batches_default OFF)
endif()
option(ASSAY_BATCHES "Compile sources in batches, with precompiled headers" ${assay_batches_default})
set(ASSAY_BATCH_BYTES 80000 CACHE STRING "Most bytes of sources in one batch")

# Headers of other projects that many sources include: one target has them for the rooms, one for the rooms that are COLD
# and the program, one for all tests. OPTIONS are those of the targets that use them: GCC 13 and later refuse headers that
# were compiled at another level of optimization.
function(assay_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBS;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "// Made by cmake/batches.cmake.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE assay_warnings assay_instrumentation ${ARG_LIBS})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

if(ASSAY_BATCHES)
  set(assay_common_headers
    <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstdlib> <filesystem> <fstream> <functional> <limits>
    <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple>
    <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
  assay_precompiled(assay_precompiled HEADERS ${assay_common_headers} LIBS fmt::fmt nlohmann_json::nlohmann_json)
  assay_precompiled(assay_cold_precompiled HEADERS ${assay_common_headers} LIBS fmt::fmt nlohmann_json::nlohmann_json
                    OPTIONS ${assay_cheap_options})
endif()

# assay_batches(TARGET PRECOMPILED [ALONE source …]): batches of about the same size. Sources with options of their own
# and those that the build makes stay alone without being named.
function(assay_batches target precompiled)
  if(NOT ASSAY_BATCHES)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "ALONE" ${ARGN})
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${ARG_ALONE})
  set(total 0)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    if(EXISTS ${path})
      file(SIZE ${path} size)
      list(APPEND batched ${source})
      list(APPEND starts ${total})
      math(EXPR total "${total} + ${size}")
    endif()
  endforeach()
  math(EXPR batches "${total} / ${ASSAY_BATCH_BYTES} + 1")
  foreach(source start IN ZIP_LISTS batched starts)
    math(EXPR batch "${start} * ${batches} / ${total}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP batch_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
