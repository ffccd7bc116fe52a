#include "reference/shape_rules.hpp"

#include <fmt/format.h>

#include <array>

#include "reference/arguments.hpp"
#include "reference/broadcast.hpp"

namespace assay::reference {
namespace {

core::Error misfit(const ShapeCall& call, std::size_t index, std::string_view expected) {
  return op_error(fmt::format("{} is {}, expected {}", input_text(call, index), facts_text(call.in(index)), expected));
}

Result<Facts> broadcast_inputs(const ShapeCall& call, std::size_t count, DType type) {
  std::optional<Dims> shape = call.in(0).shape;
  for (std::size_t i = 1; i < count; ++i) {
    auto next = broadcast_known(shape, call.in(i).shape);
    if (!next) return next.error();
    shape = std::move(*next);
  }
  return one(type, std::move(shape));
}

DType shared_type(const ShapeCall& call, std::size_t count) {
  DType type = DType::undefined;
  for (std::size_t i = 0; i < count && type == DType::undefined; ++i) type = call.in(i).type;
  return type;
}

}  // namespace

TensorFacts typed(DType type, std::optional<Dims> shape) {
  return {.type = type, .shape = std::move(shape), .value = {}, .elements = {}};
}

Result<Facts> one(DType type, std::optional<Dims> shape) { return Facts{typed(type, std::move(shape))}; }

core::Status require_one_type(const ShapeCall& call, std::size_t count) {
  core::Status status = core::success();
  std::size_t typed_one = 0;
  for (std::size_t i = 0; i < count && status; ++i) {
    status = require_same_type(call, typed_one, i);
    if (!call.has_input(typed_one) || call.in(typed_one).type == DType::undefined) typed_one = i;
  }
  return status;
}

core::Status require_rank(const ShapeCall& call, std::size_t index, std::size_t rank) {
  if (!call.has_input(index) || !call.in(index).shape || call.in(index).shape->size() == rank) return core::success();
  return misfit(call, index, fmt::format("rank {}", rank));
}

core::Status require_least_rank(const ShapeCall& call, std::size_t index, std::size_t rank) {
  if (!call.has_input(index) || !call.in(index).shape || call.in(index).shape->size() >= rank) return core::success();
  return misfit(call, index, fmt::format("a rank of at least {}", rank));
}

core::Status require_single(const ShapeCall& call, std::size_t index) {
  if (!call.has_input(index) || may_equal(call.in(index).size(), known(1))) return core::success();
  return misfit(call, index, "one element");
}

core::Status require_list(const ShapeCall& call, std::size_t index) {
  if (!call.has_input(index)) return core::success();
  const TensorFacts& list = call.in(index);
  const bool integers = list.type == DType::undefined || core::is_integer(list.type);
  if (integers && list.rank().value_or(1) <= 1) return core::success();
  return misfit(call, index, "a list of integers");
}

core::Status require_shape(const ShapeCall& call, std::size_t index, const Dims& shape) {
  if (!call.has_input(index) || !call.in(index).shape || may_equal(*call.in(index).shape, shape)) {
    return core::success();
  }
  return misfit(call, index, "the shape " + dims_text(shape));
}

Result<std::optional<Dims>> broadcast_known(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  if (!a || !b) return std::optional<Dims>();
  auto shape = broadcast_dims(*a, *b);
  if (!shape) return shape.error();
  return std::optional(std::move(*shape));
}

std::optional<core::Shape> ListArgument::all() const { return elements ? sizes(*elements) : std::nullopt; }

Result<ListArgument> list_argument(const ShapeCall& call, std::string_view attribute, std::size_t input) {
  if (call.has_input(input)) {
    if (const auto list = require_list(call, input); !list) return list.error();
    const TensorFacts& list = call.in(input);
    ListArgument argument{.given = true, .elements = list.integers()};
    if (const Dimension count = list.size(); !argument.elements && count.value && *count.value <= kElementLimit) {
      argument.elements = unknown_dims(at(*count.value));
    }
    return argument;
  }
  if (call.node.has(attribute)) return ListArgument{.given = true, .elements = dims_of(call.node.ints_or(attribute))};
  return ListArgument();
}

Result<std::optional<double>> scalar_argument(const ShapeCall& call, std::size_t input) {
  if (const auto single = require_single(call, input); !single) return single.error();
  if (!call.has_input(input)) return std::optional<double>();
  const TensorFacts& number = call.in(input);
  if (number.value != nullptr) return std::optional(number.value->as_real(0));
  if (number.elements && number.elements->size() == 1 && number.elements->front().value) {
    return std::optional(static_cast<double>(*number.elements->front().value));
  }
  return std::optional<double>();
}

Result<std::optional<std::int64_t>> integer_argument(const ShapeCall& call, std::size_t input) {
  using Integer = std::optional<std::int64_t>;
  if (!call.has_input(input)) return Integer();
  if (const auto integer = require_integer(call, input); !integer) return integer.error();
  if (const auto single = require_single(call, input); !single) return single.error();
  const TensorFacts& number = call.in(input);
  if (number.value != nullptr) return Integer(number.value->integers()[0]);
  return number.elements && number.elements->size() == 1 ? number.elements->front().value : Integer();
}

Result<DType> type_argument(const ShapeCall& call, std::string_view attribute, DType fallback) {
  if (!call.node.has(attribute)) return fallback;
  return type_argument(OpCall{.node = call.node, .opset = call.opset, .inputs = {}}, attribute, fallback);
}

Result<std::optional<std::int64_t>> axis_argument(const ShapeCall& call, std::string_view attribute,
                                                  std::int64_t fallback) {
  const auto rank = call.in(0).rank();
  if (!rank) return std::optional<std::int64_t>();
  const auto axis = checked_axis(call.node.int_or(attribute, fallback), *rank);
  if (!axis) return axis.error().within(input_text(call, 0));
  return std::optional(*axis);
}

Result<Facts> infer_same(const ShapeCall& call) { return one(call.in(0).type, call.in(0).shape); }

Result<Facts> infer_same_real(const ShapeCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  return infer_same(call);
}

Result<Facts> infer_same_integer(const ShapeCall& call) {
  if (const auto integer = require_integer(call, 0); !integer) return integer.error();
  return infer_same(call);
}

Result<Facts> infer_same_boolean(const ShapeCall& call) {
  constexpr std::array kBoolean{DType::boolean};
  if (const auto boolean = require_type(call, 0, kBoolean); !boolean) return boolean.error();
  return infer_same(call);
}

Result<Facts> infer_real_to_boolean(const ShapeCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  return one(DType::boolean, call.in(0).shape);
}

Result<Facts> infer_same_along_axis(const ShapeCall& call) {
  if (const auto axis = axis_argument(call, "axis", -1); !axis) return axis.error();
  return infer_same_real(call);
}

Result<Facts> infer_binary(const ShapeCall& call) {
  if (const auto same = require_same_type(call, 0, 1); !same) return same.error();
  return broadcast_inputs(call, 2, shared_type(call, 2));
}

Result<Facts> infer_compare(const ShapeCall& call) {
  if (const auto same = require_same_type(call, 0, 1); !same) return same.error();
  return broadcast_inputs(call, 2, DType::boolean);
}

Result<Facts> infer_logical(const ShapeCall& call) {
  constexpr std::array kBoolean{DType::boolean};
  for (std::size_t i = 0; i < 2; ++i) {
    if (const auto boolean = require_type(call, i, kBoolean); !boolean) return boolean.error();
  }
  return infer_compare(call);
}

Result<Facts> infer_variadic(const ShapeCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has_input(i)) return op_error(input_text(call, i) + " is left out");
  }
  if (const auto same = require_one_type(call, call.inputs.size()); !same) return same.error();
  return broadcast_inputs(call, call.inputs.size(), shared_type(call, call.inputs.size()));
}

Result<std::optional<Dims>> extents_argument(const ShapeCall& call, std::size_t index, std::int64_t wildcard) {
  const auto list = list_argument(call, "", index);
  if (!list) return list.error();
  for (const Dimension& extent : list->elements.value_or(Dims())) {
    if (!extent.value || *extent.value == wildcard) continue;
    if (*extent.value < 0 || *extent.value > kElementLimit) {
      return op_error(fmt::format("{} is {}, which has a negative extent or would exceed the limit of {} elements",
                                  input_text(call, index), dims_text(*list->elements), kElementLimit));
    }
  }
  return list->elements;
}

core::Status require_broadcast_to(const ShapeCall& call, std::size_t index, const std::optional<Dims>& shape) {
  if (!call.has_input(index) || !call.in(index).shape || !shape) return core::success();
  const auto joint = broadcast_dims(*call.in(index).shape, *shape);
  if (joint && may_equal(*joint, *shape)) return core::success();
  return misfit(call, index, "what broadcasts to " + dims_text(*shape));
}

core::Status require_single_or(const ShapeCall& call, std::size_t index, const Dimension& extent) {
  if (!call.has_input(index) || !call.in(index).shape) return core::success();
  const Dimension count = call.in(index).size();
  if (may_equal(count, known(1)) || may_equal(count, extent)) return core::success();
  return misfit(call, index, fmt::format("1 or {} values", dim_text(extent)));
}

std::optional<Dims> with_extent(std::optional<Dims> dims, const std::optional<std::int64_t>& axis,
                                const Dimension& extent) {
  if (!dims) return dims;
  if (!axis) return unknown_dims(dims->size());
  (*dims)[at(*axis)] = extent;
  return dims;
}

Result<Dimension> divided(const Dimension& extent, std::int64_t divisor, std::string_view what) {
  if (divisor < 1 || divisor > kElementLimit) return op_error(fmt::format("{} is {}", what, divisor));
  if (!extent.value) return divisor == 1 ? extent : Dimension();
  if (*extent.value % divisor != 0) {
    return op_error(fmt::format("extent {} does not divide by {} {}", *extent.value, what, divisor));
  }
  return known(*extent.value / divisor);
}

Dimension extent_of(const TensorFacts& facts, std::size_t axis) {
  return facts.shape && axis < facts.shape->size() ? (*facts.shape)[axis] : Dimension();
}

Result<Shape> ruled_shape(const OpCall& call, ShapeRule rule, std::size_t index) {
  std::vector<TensorFacts> facts;
  facts.reserve(call.inputs.size());
  std::vector<const TensorFacts*> inputs;
  for (const Tensor* input : call.inputs) {
    inputs.push_back(input == nullptr ? nullptr : &facts.emplace_back(facts_of(*input)));
  }
  const Result<Facts> outputs = rule({.node = call.node, .opset = call.opset, .inputs = inputs});
  if (!outputs) return outputs.error();
  const auto shape =
      index < outputs->size() && (*outputs)[index].shape ? sizes(*(*outputs)[index].shape) : std::nullopt;
  if (!shape) return op_error("the output's shape depends on more than the inputs' values");
  if (const auto count = checked_count(*shape); !count) return count.error();
  return *shape;
}

}  // namespace assay::reference
