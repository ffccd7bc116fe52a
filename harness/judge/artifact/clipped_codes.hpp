#pragma once

#include <memory>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// The artifact without a Clip between QuantizeLinear and DequantizeLinear (Brevitas' QCDQ): of constants the codes are
/// clipped, bounds that every code lies within are dropped, and others stand in front of the QuantizeLinear as the
/// values of these codes, which gives the same codes. Constant codes whose bounds are those of int4, uint4, int2 or
/// uint2 get that type. The same object where there is none.
[[nodiscard]] std::shared_ptr<const model::Model> with_clips_before_codes(std::shared_ptr<const model::Model> artifact);

}  // namespace assay::judge
