#pragma once

#include "harness/core/result.hpp"
#include "harness/model/graph.hpp"

namespace assay::conformance {

/// A model of opset 1 to 6 as one of opset 7, which is where the reference begins.
///
/// What is changed: Add, Sub, Mul, Div, Pow, And, Or, Xor, Equal, Greater and Less have `broadcast` and `axis` (the
/// second operand's axes lie along the first's from `axis` on; the last ones without it); PRelu's slope lies along axis
/// 1; BatchNormalization has `is_test`, `spatial` and `consumed_inputs`, Dropout `is_test`, Gemm `broadcast`, which
/// only say what opset 7 takes for granted. Other operators must mean the same in opset 7, and newer models stay as
/// they are. Errors   unsupported where an operand's rank is not known from the model, or a form has no opset-7
/// counterpart.
[[nodiscard]] core::Result<model::Model> without_old_forms(model::Model model);

}  // namespace assay::conformance
