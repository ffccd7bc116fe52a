#pragma once

#include "harness/model/graph.hpp"

namespace assay::embedded {

/// The artifact with products of dynamic codes as ONNX Runtime's quantize_dynamic writes them: MatMulInteger or
/// ConvInteger on the codes, Cast, Mul by both scales, Add of the bias. What has no such form stays as it is: a product
/// whose constant is on the left, a transposed or scaled Gemm, a ConvTranspose.
[[nodiscard]] model::Model integer_products(const model::Model& artifact);

}  // namespace assay::embedded
