#pragma once

#include "harness/model/graph.hpp"

namespace assay::embedded {

/// The artifact in QOperator format: an operator between DequantizeLinear and QuantizeLinear becomes the one on codes
/// where ONNX or ONNX Runtime has it (QLinearConv, QGemm, QLinearAdd, …), and one that only moves codes reads them
/// directly. What has no such form stays as it is.
[[nodiscard]] model::Model on_codes(const model::Model& artifact);

}  // namespace assay::embedded
