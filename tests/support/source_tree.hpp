#pragma once

#include <filesystem>

namespace assay::test {

/// Root of the source tree that the tests were built from.
std::filesystem::path source_tree();

/// Folder of the data files that tests read.
std::filesystem::path test_data();

}  // namespace assay::test
