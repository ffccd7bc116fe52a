#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/corpus/case.hpp"

namespace assay::corpus {

/// One case for each folder below `folder` that holds a model.onnx, with that folder, called `name` and
/// "case=FOLDER". A relative `folder` lies below home(). Without any there is one, `name`, whose folder is empty.
[[nodiscard]] std::vector<std::pair<std::string, std::filesystem::path>> stored_cases(
    const std::string& name, const std::filesystem::path& folder);

/// Hash over every file below `folder`, with its name.
[[nodiscard]] core::Result<std::string> folder_hash(const std::filesystem::path& folder);

/// Sets the content hash from every file of the stored case.
[[nodiscard]] core::Status hash_stored_case(Case& test_case);

}  // namespace assay::corpus
