#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/facts.hpp"
#include "reference/op.hpp"
#include "reference/op_checks.hpp"

// Shape rules that operators share, and what the others are made of.

namespace assay::reference {

using Facts = std::vector<TensorFacts>;

[[nodiscard]] TensorFacts typed(DType type, std::optional<Dims> shape);
/// A rule's result with one output.
[[nodiscard]] Result<Facts> one(DType type, std::optional<Dims> shape);
/// Inputs 0, …, count - 1, where they are there, have the same type.
[[nodiscard]] core::Status require_one_type(const ShapeCall& call, std::size_t count);
/// Input `index`, where its rank is known, has this one / at least this one.
[[nodiscard]] core::Status require_rank(const ShapeCall& call, std::size_t index, std::size_t rank);
[[nodiscard]] core::Status require_least_rank(const ShapeCall& call, std::size_t index, std::size_t rank);
/// Input `index`, where it is there, may have one element / be a list or scalar of integers.
[[nodiscard]] core::Status require_single(const ShapeCall& call, std::size_t index);
[[nodiscard]] core::Status require_list(const ShapeCall& call, std::size_t index);
/// Input `index`, where it is there, may have this shape.
[[nodiscard]] core::Status require_shape(const ShapeCall& call, std::size_t index, const Dims& shape);

/// Both shapes broadcast (see broadcast_shape), as far as known; an unknown rank gives an unknown rank.
[[nodiscard]] Result<std::optional<Dims>> broadcast_known(const std::optional<Dims>& a, const std::optional<Dims>& b);

/// A list that older versions of an operator take as an attribute and newer ones as an input.
struct ListArgument {
  bool given = false;
  std::optional<Dims> elements;                          ///< as far as known; nothing: not even how many
  [[nodiscard]] std::optional<core::Shape> all() const;  ///< the list, where all of it is known
};
[[nodiscard]] Result<ListArgument> list_argument(const ShapeCall& call, std::string_view attribute, std::size_t input);
/// The one number of an input, where it is constant. Errors   more than one element.
[[nodiscard]] Result<std::optional<double>> scalar_argument(const ShapeCall& call, std::size_t input);
/// ... that must be an integer.
[[nodiscard]] Result<std::optional<std::int64_t>> integer_argument(const ShapeCall& call, std::size_t input);
[[nodiscard]] Result<DType> type_argument(const ShapeCall& call, std::string_view attribute, DType fallback);
/// The axis that an attribute names, where the rank of input 0 is known.
[[nodiscard]] Result<std::optional<std::int64_t>> axis_argument(const ShapeCall& call, std::string_view attribute,
                                                                std::int64_t fallback);

/// The output is as input 0: of any type / real / integer / boolean; boolean of the same shape for a real input.
[[nodiscard]] Result<Facts> infer_same(const ShapeCall& call);
[[nodiscard]] Result<Facts> infer_same_real(const ShapeCall& call);
[[nodiscard]] Result<Facts> infer_same_integer(const ShapeCall& call);
[[nodiscard]] Result<Facts> infer_same_boolean(const ShapeCall& call);
[[nodiscard]] Result<Facts> infer_real_to_boolean(const ShapeCall& call);
/// ... where attribute axis (-1 by default) must be one of its axes.
[[nodiscard]] Result<Facts> infer_same_along_axis(const ShapeCall& call);

/// Two inputs of one type, broadcast: the same type / boolean / booleans to boolean.
[[nodiscard]] Result<Facts> infer_binary(const ShapeCall& call);
[[nodiscard]] Result<Facts> infer_compare(const ShapeCall& call);
[[nodiscard]] Result<Facts> infer_logical(const ShapeCall& call);
/// Any number of inputs of one type, broadcast.
[[nodiscard]] Result<Facts> infer_variadic(const ShapeCall& call);

/// A list of extents in input `index` (a target shape). Errors   a negative one, unless it is `wildcard`.
[[nodiscard]] Result<std::optional<Dims>> extents_argument(const ShapeCall& call, std::size_t index,
                                                           std::int64_t wildcard = 0);
/// Input `index`, where it is there, broadcasts to `shape`, which does not stretch.
[[nodiscard]] core::Status require_broadcast_to(const ShapeCall& call, std::size_t index,
                                                const std::optional<Dims>& shape);
/// Input `index`, where it is there, has one element, or a list of `extent`.
[[nodiscard]] core::Status require_single_or(const ShapeCall& call, std::size_t index, const Dimension& extent);
/// `dims` with the extent at `axis` replaced / all extents unknown where the axis is not known.
[[nodiscard]] std::optional<Dims> with_extent(std::optional<Dims> dims, const std::optional<std::int64_t>& axis,
                                              const Dimension& extent);
/// `extent` / `divisor`, unknown where the extent is. Errors   a rest; `divisor` below 1.
[[nodiscard]] Result<Dimension> divided(const Dimension& extent, std::int64_t divisor, std::string_view what);
/// The extent along `axis`, unknown where the rank is.
[[nodiscard]] Dimension extent_of(const TensorFacts& facts, std::size_t axis);

/// The shape that `rule` gives the kernel's output `index`: all is known of the inputs, so all is known of the output.
/// Errors   those of the rule.
[[nodiscard]] Result<Shape> ruled_shape(const OpCall& call, ShapeRule rule, std::size_t index = 0);

}  // namespace assay::reference
