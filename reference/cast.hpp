#pragma once

#include "harness/core/tensor.hpp"
#include "reference/op.hpp"

namespace assay::reference {

/// How a number that lies between two powers of two becomes one of them.
enum class PowerRounding { up, down, nearest };

/// Attributes of Cast, CastLike and QuantizeLinear.
struct CastRules {
  bool saturate = true;                          ///< what lies outside of a float8 type becomes its largest number
  PowerRounding round_mode = PowerRounding::up;  ///< to float8e8m0, whose numbers are powers of two
};

/// saturate and round_mode of `call`. Errors   another word.
[[nodiscard]] Result<CastRules> cast_rules(const OpCall& call);

/// `value` as `type`, a real type, holds it: rounded to nearest, halves to even.
/// Formula  ONNX Cast-28. Beyond the largest: infinity; in the types of a byte as their tables say, the largest with
///          `saturate`, else infinity where the type has one, else NaN; in float4e2m1 always the largest, and NaN,
///          which it lacks, gives 0. float8e8m0 holds nothing below 2^-127: that and 0 give 2^-127 with `saturate`,
///          else NaN; a negative number, left open by the text, gives NaN.
[[nodiscard]] double cast_real(double value, core::DType type, const CastRules& rules = {});

/// `tensor` converted to `type`.
/// Formula  ONNX Cast-28. Real to integer truncates towards zero; beyond the type's range, where the text leaves the
///          value undefined, it stops at the range's end, and NaN gives 0; in types below a byte the low bits remain,
///          as ONNX's node cases have it. Integer to integer keeps the low bits. To a real type: cast_real. To
///          boolean: not zero.
[[nodiscard]] core::Tensor cast(const core::Tensor& tensor, core::DType type, const CastRules& rules = {});

}  // namespace assay::reference
