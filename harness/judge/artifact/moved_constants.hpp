#pragma once

#include <memory>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// The artifact with quantized constants in the shape in which an operator reads them: a Transpose, Reshape, Slice,
/// Split or Concat of what DequantizeLinear makes of constant codes (an exported Linear layer's weight, queries, keys
/// and values in one, blocks written as rows) becomes DequantizeLinear of the moved codes, with the scales that the
/// elements had, where these then are one, lie along an axis, or in blocks. A QuantizeLinear of a constant stands in
/// between as before. Codes that are moved before they are dequantized become the moved constant's. The same object
/// where there is none.
[[nodiscard]] std::shared_ptr<const model::Model> with_moved_constants(std::shared_ptr<const model::Model> artifact);

}  // namespace assay::judge
