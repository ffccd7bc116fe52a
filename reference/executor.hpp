#pragma once

#include <functional>
#include <map>
#include <string>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::reference {

struct RunOptions {
  /// Called once for every tensor when it is made (graph inputs and initializers included), before it may be freed.
  std::function<void(const std::string& name, const core::Tensor& value)> observe;
};

/// Runs `model` in float64 and exact integers. Real tensors keep their declared type as a label, but their values
/// are not rounded to it (Cast rounds, as its text demands). Inputs are bound by name.
/// Shapes   a symbolic dimension takes the size of the data; the same symbol must agree everywhere.
/// Errors   invalid_data for a missing, unknown or misshapen input; unsupported for an operator (by node, operator and
///          domain); invalid_model for one whose inputs break its rules.
/// Memory   a tensor is freed after its last reader.
[[nodiscard]] core::Result<core::TensorMap> execute(const model::Model& model, const core::TensorMap& inputs,
                                                    const RunOptions& options = {});

/// Runs one node on tensors given in the order of its inputs (null where left out).
[[nodiscard]] core::Result<std::vector<core::Tensor>> execute_node(const model::Node& node, std::int64_t opset,
                                                                   std::span<const core::Tensor* const> inputs);

}  // namespace assay::reference
