# The flags of our own code, and the three kinds of targets we have.

add_library(assay_warnings INTERFACE)
target_compile_options(assay_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wcast-align -Wunused -Woverloaded-virtual -Wdouble-promotion -Wimplicit-fallthrough
  # gcc 12 reports these inside std::string and std::variant at -O2, where nothing is wrong.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict
    -Wno-stringop-overflow -Wno-array-bounds -Wno-free-nonheap-object>)

add_library(assay_instrumentation INTERFACE)
if(ASSAY_SANITIZE)
  target_compile_options(assay_instrumentation INTERFACE
    -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer ${ASSAY_SANITIZE_LESS})
  target_link_options(assay_instrumentation INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_COVERAGE)
  target_compile_options(assay_instrumentation INTERFACE --coverage)
  target_link_options(assay_instrumentation INTERFACE --coverage)
endif()

# The allocator of the programs that judge: verdicts are many small tensors, and a tenth of their time goes to getting
# and giving back memory with glibc's. Sanitizers bring their own.
add_library(assay_allocator INTERFACE)
if(NOT ASSAY_SANITIZE)
  find_package(mimalloc REQUIRED)
  set(allocator "-Wl,--push-state,--no-as-needed" mimalloc "-Wl,--pop-state")
  # mimalloc 3.0.1 crashes where no memory is left: what should be the verdict `oom` would be a crash of the worker.
  include(CheckCXXSourceRuns)
  set(CMAKE_REQUIRED_LIBRARIES ${allocator})
  check_cxx_source_runs("
    #include <sys/resource.h>
    #include <cstdlib>
    void* volatile got;
    int main() {
      got = std::malloc(100);
      const rlimit none{0, 0};
      setrlimit(RLIMIT_AS, &none);
      for (std::size_t bytes = 1U << 28U; bytes >= 8; bytes /= 2) while ((got = std::malloc(bytes)) != nullptr) {}
    }" ASSAY_MIMALLOC_RUNS_OUT_OF_MEMORY)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(ASSAY_MIMALLOC_RUNS_OUT_OF_MEMORY)
    target_link_libraries(assay_allocator INTERFACE ${allocator})
  else()
    message(STATUS "mimalloc ${mimalloc_VERSION} crashes where no memory is left: the C library's allocator instead")
  endif()
  target_sources(assay_allocator INTERFACE ${CMAKE_SOURCE_DIR}/harness/core/throwing_new.cpp)
endif()

# What is not worth the compiler's time: the program is as fast with less of it there.
set(assay_cheap_options $<$<NOT:$<CONFIG:Debug>>:-O1>)

include(${CMAKE_CURRENT_LIST_DIR}/batches.cmake)

# assay_library(NAME [COLD] SOURCES … [DEPENDS assay_core …] [LIBS fmt::fmt …] [ALONE source …])
# DEPENDS are our own targets: includes of other folders of ours fail the build. COLD: no verdict spends its time here.
# ALONE: cmake/batches.cmake.
function(assay_library name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;DEPENDS;LIBS;ALONE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} $<BUILD_INTERFACE:assay_instrumentation>
                        PRIVATE $<BUILD_INTERFACE:assay_warnings> ${ARG_LIBS})
  set(precompiled assay_precompiled)
  if(ARG_COLD)
    target_compile_options(${name} PRIVATE ${assay_cheap_options})
    set(precompiled assay_cold_precompiled)
  endif()
  assay_batches(${name} ${precompiled} ALONE ${ARG_ALONE})
  string(REGEX REPLACE "^assay_" "" exported ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${exported})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(JOIN ARG_DEPENDS "," depends)
  set_property(GLOBAL APPEND PROPERTY ASSAY_DEPENDENCY_RULES "${name}|${folder}|${depends}")
endfunction()

# assay_test(NAME SOURCES … DEPENDS … [LIBS …]): one GoogleTest program for one folder of tests.
function(assay_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LIBS;LABELS;ALONE" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} ${ARG_LIBS} assay_warnings assay_instrumentation
                        assay_test_support GTest::gtest_main GTest::gmock fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_options(${name} PRIVATE ${assay_cheap_options})
  assay_batches(${name} assay_test_precompiled ALONE ${ARG_ALONE})
  # Names are GoogleTest's own: what it prints of a parameter may be the bytes of an address.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 NO_PRETTY_VALUES
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600)
endfunction()
