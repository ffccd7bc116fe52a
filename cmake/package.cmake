# `cpack -G DEB` in the build folder: the Debian packages assay (components program and python) and assay-dev (component development).
# What they depend on is what the program links here (dpkg-shlibdeps).
set(ASSAY_MAINTAINER "The Assay developers <developers@assay.invalid>" CACHE STRING
    "Whom a Debian package names as its maintainer: NAME <ADDRESS>")

set(uplot ${CMAKE_SOURCE_DIR}/harness/report/html/page/uplot/LICENSE)
file(READ ${uplot} uplot_license)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]+)" uplot_copyright "${uplot_license}")
set(uplot_copyright ${CMAKE_MATCH_1})
string(STRIP "${uplot_license}" uplot_license)
string(REPLACE "\n\n" "\n.\n" uplot_license "${uplot_license}")
string(REPLACE "\n" "\n " uplot_license " ${uplot_license}")
configure_file(cmake/debian_copyright.in debian/copyright @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/debian/copyright DESTINATION share/doc/assay COMPONENT program)
install(FILES ${CMAKE_BINARY_DIR}/debian/copyright DESTINATION share/doc/assay-dev COMPONENT development)

set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "regression tests and conformance checks for quantized ONNX models")
set(CPACK_PACKAGE_CONTACT ${ASSAY_MAINTAINER})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program python development)
set(CPACK_COMPONENT_PROGRAM_GROUP program)
set(CPACK_COMPONENT_PYTHON_GROUP program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME assay)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3, python3-venv")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Assay runs ONNX models through a quantized converter and through a reference
in float64 and exact integers, and judges scales, integers and errors with
limits that follow from the quantization parameters.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME assay-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "assay (= ${PROJECT_VERSION}), libfmt-dev, libssl-dev, libonnx-dev, libprotobuf-dev, libminizip-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Headers and static libraries for a converter in C++ that Assay tests, which
find_package(Assay COMPONENTS development) finds.")
include(CPack)
