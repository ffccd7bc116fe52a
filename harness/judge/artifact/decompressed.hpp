#pragma once

#include <memory>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// The artifact with DequantizeLinear in place of what other converters write for it: a Cast of constant codes, a Sub
/// of their zero points where there are any, and a Mul by their scales, which lie in one value, along an axis, or in
/// blocks that fill an axis. The same object where there is none.
[[nodiscard]] std::shared_ptr<const model::Model> with_decompressed_constants(
    std::shared_ptr<const model::Model> artifact);

/// A Cast reads constant codes: few artifacts have one, and the others aren't copied.
[[nodiscard]] bool casts_constant_codes(const model::Graph& graph);

}  // namespace assay::judge
