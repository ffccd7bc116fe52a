#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/corpus/case.hpp"

namespace assay::corpus {

/// The family file of `test_case` alone, as it stands after expansion: parse_family() gives the same case, called by
/// its family's name. Without keys about the graph ("graph" or "model"), which the caller adds, and without
/// "stored_data".
[[nodiscard]] nlohmann::ordered_json case_json(const Case& test_case);

/// Its key "origin".
[[nodiscard]] nlohmann::ordered_json origins_json(const Case& test_case);

/// `text` as a family file has to write it: a dollar sign there begins a name.
[[nodiscard]] std::string escaped(const std::string& text);

}  // namespace assay::corpus
