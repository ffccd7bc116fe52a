#pragma once

#include <filesystem>

namespace assay::corpus {

/// Where fetched models and converters' environments lie: .assay below home(), or below the working directory where
/// home() is an installation's, which isn't written to.
[[nodiscard]] std::filesystem::path state_folder();

}  // namespace assay::corpus
