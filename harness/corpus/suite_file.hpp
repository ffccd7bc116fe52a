#pragma once

#include <filesystem>

namespace assay::corpus {

/// Whether `file` is a JSON object with a suite's keys and not with a case's: load_suite() takes its path for a name.
[[nodiscard]] bool is_suite_file(const std::filesystem::path& file);

}  // namespace assay::corpus
