#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::programs {

/// `command` in a sandbox (harness/core/sandbox.hpp) that lets it write into `job` alone. Of a home it reads what its
/// words name (a file's folder, unless that is a home itself), the Python environment of its program, Assay's own files
/// and environments, and the folders of PYTHONPATH and LD_LIBRARY_PATH.
[[nodiscard]] std::vector<std::string> confined(const std::vector<std::string>& command,
                                                const std::filesystem::path& job);

}  // namespace assay::programs
