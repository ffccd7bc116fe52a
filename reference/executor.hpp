#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::reference {

/// What one execution may take, its subgraphs included.
struct RunLimits {
  std::int64_t elements = std::int64_t{1} << 30U;  ///< of tensors that nodes made and that are still to be read
  std::int64_t runs = 2'000'000;  ///< of nodes, those of subgraphs each time: a Loop may ask for any number
};

struct RunOptions {
  RunLimits limits = {};
  /// Called once for every tensor when it is made (graph inputs and initializers included), before it may be freed.
  std::function<void(const std::string& name, const core::Tensor& value)> observe;
  /// Asked before every node, those of subgraphs included: outputs that it gives stand for what the node would make;
  /// nothing: the node runs as ever.
  std::function<std::optional<core::Result<std::vector<core::Tensor>>>(const model::Node& node, std::int64_t opset,
                                                                       std::span<const core::Tensor* const> inputs)>
      substitute;
};

/// A tensor around a node with subgraphs, by name; null where there is none.
using OuterTensor = std::function<core::TensorPtr(const std::string& name)>;

/// Runs `model` in float64 and exact integers. Real tensors keep their declared type as a label, but their values
/// are not rounded to it (Cast rounds, as its text demands). Inputs are bound by name.
/// Shapes   a symbolic dimension takes the size of the data; the same symbol must agree everywhere.
/// Errors   invalid_data for a missing, unknown or misshapen input; unsupported for an operator (by node, operator and
///          domain); invalid_model for one whose inputs break its rules.
///          Also unsupported: what goes beyond a limit.
/// Memory   a tensor is freed after its last reader.
[[nodiscard]] core::Result<core::TensorMap> execute(const model::Model& model, const core::TensorMap& inputs,
                                                    const RunOptions& options = {});

/// Runs one node on tensors given in the order of its inputs (null where left out). Its subgraphs see what `outer`
/// gives; without it they capture nothing.
[[nodiscard]] core::Result<std::vector<core::Tensor>> execute_node(const model::Node& node, std::int64_t opset,
                                                                   std::span<const core::Tensor* const> inputs,
                                                                   const OuterTensor& outer = {});

}  // namespace assay::reference
