# What `cmake --install` and the wheel lay down: PREFIX/bin/assay, and what it reads in PREFIX/share/assay, where the program
# looks for it. Component `program`.
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

# find_package(Assay) with assay_add_suite().
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/AssayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/AssayConfig.cmake ${CMAKE_BINARY_DIR}/AssayConfigVersion.cmake DESTINATION lib/cmake/Assay
  COMPONENT program)
