# Component `program`, which is also the wheel's: PREFIX/bin/assay, and what it reads in PREFIX/share/assay, where the
# program looks for it.
install(TARGETS assay RUNTIME DESTINATION bin COMPONENT program)
install(DIRECTORY cases suites tools DESTINATION share/assay COMPONENT program
  PATTERN __pycache__ EXCLUDE)
install(DIRECTORY converters/adapters DESTINATION share/assay/converters COMPONENT program
  PATTERN __pycache__ EXCLUDE
  PATTERN CMakeLists.txt EXCLUDE)
install(DIRECTORY docs DESTINATION share/assay COMPONENT program
  PATTERN __pycache__ EXCLUDE
  PATTERN *.db.gz EXCLUDE)  # results of released converters: larger than all else together
install(FILES LICENSE NOTICE DESTINATION share/assay COMPONENT program)

# What the program is made of. Only where Ninja and dpkg can be asked.
install(CODE "execute_process(COMMAND python3 \"${CMAKE_SOURCE_DIR}/tools/sbom.py\" \"${CMAKE_BINARY_DIR}\"
  --output \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/assay/sbom.cdx.json\" RESULT_VARIABLE result)" COMPONENT program)

# Component `python`: the module, which Debian's Python finds there. The wheel brings its own.
install(DIRECTORY python/onnx_assay DESTINATION lib/python3/dist-packages COMPONENT python
  PATTERN __pycache__ EXCLUDE)

# find_package(Assay) with assay_add_suite().
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/AssayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/AssayConfig.cmake ${CMAKE_BINARY_DIR}/AssayConfigVersion.cmake DESTINATION lib/cmake/Assay
  COMPONENT program)

# Component `development`: what a converter in C++ is made of (converters/adapters/example_cpp is one), as
# find_package(Assay COMPONENTS development). The headers are those that the example's four include.
set(development assay_protocol assay_converter_interface assay_model assay_reference assay_core)
foreach(target IN LISTS development)
  target_compile_features(${target} INTERFACE cxx_std_20)
endforeach()
install(TARGETS ${development} EXPORT AssayDevelopment
  ARCHIVE DESTINATION lib COMPONENT development
  INCLUDES DESTINATION include/assay)
foreach(header converters/converter.hpp converters/policy.hpp converters/protocol/server.hpp
        harness/core/dtype.hpp harness/core/quant_params.hpp harness/core/result.hpp harness/core/tensor.hpp
        harness/core/words.hpp harness/model/graph.hpp harness/model/onnx_io.hpp reference/executor.hpp)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION include/assay/${folder} COMPONENT development)
endforeach()
install(EXPORT AssayDevelopment NAMESPACE Assay:: DESTINATION lib/cmake/Assay COMPONENT development)
