#pragma once

#include "harness/core/tensor.hpp"

namespace assay::reference {

/// `tensor` converted to `type`.
/// Formula  ONNX Cast-13. Real to integer truncates towards zero; beyond the type's range, where the text leaves the
///          value undefined, it stops at the range's end, and NaN gives 0. Integer to integer keeps the low bits. To a
///          real type: rounded to what it holds, halves to even. To boolean: not zero.
[[nodiscard]] core::Tensor cast(const core::Tensor& tensor, core::DType type);

}  // namespace assay::reference
