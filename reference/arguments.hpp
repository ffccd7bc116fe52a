#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/op.hpp"
#include "reference/op_checks.hpp"

namespace assay::reference {

/// OpDef::max_inputs of an operator that takes any number of inputs.
inline constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

/// "float[1,64,8,8]".
[[nodiscard]] std::string tensor_text(const Tensor& tensor);

/// A kernel's result with one output.
[[nodiscard]] Result<std::vector<Tensor>> single_output(Tensor tensor);
[[nodiscard]] Result<std::vector<Tensor>> single_output(Result<Tensor> tensor);

/// Distance in elements between neighbours along each axis of a row-major tensor.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape);

/// Each axis counted from the front, in the given order. Errors   outside the rank, or an axis twice.
[[nodiscard]] Result<std::vector<std::int64_t>> checked_axes(std::span<const std::int64_t> axes, std::int64_t rank);

/// The integers of an input of rank 0 or 1.
[[nodiscard]] Result<std::vector<std::int64_t>> integer_list(const OpCall& call, std::size_t input);

/// The one integer of an input with one element.
[[nodiscard]] Result<std::int64_t> integer_scalar(const OpCall& call, std::size_t input);

/// The one number of an input with one element.
[[nodiscard]] Result<double> real_scalar(const OpCall& call, std::size_t input);

/// A list that older versions of an operator take as an attribute and newer ones as an input: whichever is there.
[[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> list_argument(const OpCall& call,
                                                                             std::string_view attribute,
                                                                             std::size_t input);

/// The element type that an attribute names by ONNX's number.
/// Errors   unsupported for types that tensors here can't have.
[[nodiscard]] Result<DType> type_argument(const OpCall& call, std::string_view attribute, DType fallback);

[[nodiscard]] core::Status require_boolean(const OpCall& call, std::size_t input);

}  // namespace assay::reference
