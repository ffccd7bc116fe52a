#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

// Inside of CorrelatedBound: operators run forwards on rows of a Jacobian, and products backwards.
namespace assay::judge {

/// float64 `values` in `shape`'s shape: rows of J are float64, and operators demand one type.
[[nodiscard]] core::Tensor like(const core::Tensor& shape, std::vector<double> values);
/// Output `position` of the reference's `node`; nothing where it fails or isn't real.
[[nodiscard]] std::optional<core::Tensor> run_one(const model::Node& node, std::int64_t opset,
                                                  const std::vector<const core::Tensor*>& inputs,
                                                  std::size_t position = 0);
/// Takes a row of J from the output of a Conv, ConvTranspose, Gemm or MatMul with the constant `weight` to its data,
/// flat; nothing for attributes that it doesn't turn round (auto_pad, output_shape, transA).
[[nodiscard]] std::optional<std::vector<double>> through_product(const model::Node& node, std::int64_t opset,
                                                                 const core::Shape& data, const core::Tensor& weight,
                                                                 const core::Tensor& row);

}  // namespace assay::judge
