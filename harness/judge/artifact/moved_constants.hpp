#pragma once

#include <memory>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// The artifact with quantized constants in the shape in which an operator reads them: a Transpose of what
/// DequantizeLinear makes of constant codes (an exported Linear layer's weight) becomes DequantizeLinear of transposed
/// codes, and so does a node that only reshapes where there is one scale or the axis stays whole. Scales of blocks and
/// of an axis go along; a QuantizeLinear of a constant stands in between as before. The same object where there is
/// none.
[[nodiscard]] std::shared_ptr<const model::Model> with_moved_constants(std::shared_ptr<const model::Model> artifact);

}  // namespace assay::judge
