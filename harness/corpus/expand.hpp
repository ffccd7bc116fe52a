#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/corpus/expression.hpp"

namespace assay::corpus {

/// Expands a family's JSON into (name, JSON) pairs, in the order of the file: forms first, then the matrix keys with
/// the last one fastest. A matrix key with commas is zipped, the keys are crossed. A key
/// that begins with "_" has values but does not show in the name.
/// Errors   invalid_case with the key, for ragged rows, duplicate names and a matrix that yields nothing.
[[nodiscard]] core::Result<std::vector<std::pair<std::string, nlohmann::ordered_json>>> expand_family(
    const nlohmann::ordered_json& family);

}  // namespace assay::corpus
