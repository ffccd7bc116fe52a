#pragma once

#include <filesystem>
#include <vector>

namespace assay::corpus {

/// Every *.json below `folder`, sorted; none where it can't be read.
[[nodiscard]] std::vector<std::filesystem::path> json_files(const std::filesystem::path& folder);

}  // namespace assay::corpus
