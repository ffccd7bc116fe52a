#pragma once

#include "harness/model/graph.hpp"

namespace assay::embedded {

/// The artifact with ONNX Runtime's MatMulNBits (docs/ContribOperators.md, domain com.microsoft) in place of each
/// MatMul whose constant is in blocks along what is summed. What has no such form stays between its quantizers: other
/// operators, signed codes, and blocks that are shorter than 16 or no power of two.
[[nodiscard]] model::Model packed_weights(const model::Model& artifact);

}  // namespace assay::embedded
