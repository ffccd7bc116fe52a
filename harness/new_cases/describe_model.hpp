#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/model/graph.hpp"

namespace assay::new_cases {

/// `model` as keys of a family file: graph in ONNX's textual syntax, opset, described initializers, names, node_names.
/// Nothing where that would not give the very same model (value_info aside): large weights, subgraphs, what the text
/// can't say.
[[nodiscard]] std::optional<nlohmann::ordered_json> described_model(const model::Model& model);

}  // namespace assay::new_cases
