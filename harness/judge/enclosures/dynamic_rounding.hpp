#pragma once

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/judge/enclosures/enclosure.hpp"
#include "harness/judge/enclosures/execution_style.hpp"

// Operands whose range each inference finds from the operand itself: DynamicQuantizeLinear and back
// (docs/oracle_numerics.md, "Dynamic ranges").
namespace assay::judge {

/// The step of 8-bit codes over these values and zero; 0 where all are zero. With `symmetric` the codes lie around
/// zero.
[[nodiscard]] double dynamic_step(std::span<const double> values, bool symmetric);

/// The nearest codes' values; NaN and infinities have none and stay as they are, with all beside them.
[[nodiscard]] core::TensorPtr rounded_dynamically(const core::TensorPtr& values);

/// What any such rounding may make of the values: half the coarsest step to either side, and `extra` steps more. Zero
/// has a code of its own.
[[nodiscard]] Enclosure rounded_dynamically(const Enclosure& values, bool symmetric, double extra);

/// What QuantizeLinear to uint8 and DequantizeLinear make of a real tensor under a computed scale and zero point, one
/// of each. Errors   invalid_data on NaN, unsupported where the scale may be zero or the zero point one of many.
[[nodiscard]] core::Result<Enclosure> through_codes(const Enclosure& x, const Enclosure& scale,
                                                    const Enclosure& zero_point, const Style& style);
/// What DynamicQuantizeLinear and DequantizeLinear make of a real tensor, for every real within `x`, by a style of
/// execution. Errors   invalid_data on NaN and infinities.
[[nodiscard]] core::Result<Enclosure> through_dynamic_codes(const Enclosure& x, const Style& style);

}  // namespace assay::judge
