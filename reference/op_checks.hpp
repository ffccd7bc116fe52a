#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reference/op.hpp"

namespace assay::reference {

/// Number of elements of `shape`.
/// Errors   a negative extent; more than kElementLimit elements.
[[nodiscard]] Result<std::int64_t> checked_count(std::span<const std::int64_t> shape);

/// `axis` counted from the front.
/// Errors   outside [-rank, rank).
[[nodiscard]] Result<std::int64_t> checked_axis(std::int64_t axis, std::int64_t rank);

/// Input `index` (which must be there) is of a real type / an integer type (or boolean) / one of `types`. For a shape
/// rule a type that is not known is any.
[[nodiscard]] core::Status require_real(const OpCall& call, std::size_t index);
[[nodiscard]] core::Status require_real(const ShapeCall& call, std::size_t index);
[[nodiscard]] core::Status require_integer(const OpCall& call, std::size_t index);
[[nodiscard]] core::Status require_integer(const ShapeCall& call, std::size_t index);
[[nodiscard]] core::Status require_type(const OpCall& call, std::size_t index, std::span<const DType> types);
[[nodiscard]] core::Status require_type(const ShapeCall& call, std::size_t index, std::span<const DType> types);
/// Inputs `first` and `second`, where both are there, have the same type.
[[nodiscard]] core::Status require_same_type(const OpCall& call, std::size_t first, std::size_t second);
[[nodiscard]] core::Status require_same_type(const ShapeCall& call, std::size_t first, std::size_t second);

/// The type of an input that is there; undefined where a shape rule does not know it.
[[nodiscard]] inline DType input_type(const OpCall& call, std::size_t index) { return call.in(index).type(); }
[[nodiscard]] inline DType input_type(const ShapeCall& call, std::size_t index) { return call.in(index).type; }

/// `input 1 "w"`: how messages call an input.
[[nodiscard]] std::string input_text(const OpCall& call, std::size_t index);
[[nodiscard]] std::string input_text(const ShapeCall& call, std::size_t index);
/// The same of an output.
[[nodiscard]] std::string output_text(const Node& node, std::size_t index);

/// A shape's extents around an axis: outer × extent × inner elements.
struct AxisSplit {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};
/// `axis` must be in range.
[[nodiscard]] AxisSplit split_at_axis(std::span<const std::int64_t> shape, std::int64_t axis);

/// `index` as an unsigned subscript; negative values are a broken assumption.
[[nodiscard]] constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace assay::reference
