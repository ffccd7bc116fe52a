#include "reference/op_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::reference {
namespace {

std::string input_text(const Node& node, std::size_t index) {
  return fmt::format("input {} \"{}\"", index, node.input(index));
}

core::Status check_kind(const Node& node, std::size_t index, DType type, bool (*fits)(DType),
                        std::string_view expected) {
  if (type == DType::undefined || fits(type)) {
    return core::success();
  }
  return op_error(
      fmt::format("{} has type {}, expected {}", input_text(node, index), core::dtype_name(type), expected));
}

core::Status check_type(const Node& node, std::size_t index, DType type, std::span<const DType> types) {
  if (type == DType::undefined || std::find(types.begin(), types.end(), type) != types.end()) {
    return core::success();
  }
  std::string expected;
  for (const DType choice : types) {
    expected += (expected.empty() ? "" : " or ") + std::string(core::dtype_name(choice));
  }
  return op_error(
      fmt::format("{} has type {}, expected {}", input_text(node, index), core::dtype_name(type), expected));
}

core::Status check_same(const Node& node, std::size_t first, DType one, std::size_t second, DType other) {
  if (one == other || one == DType::undefined || other == DType::undefined) {
    return core::success();
  }
  return op_error(fmt::format("{} has type {}, but {} has type {}; expected the same", input_text(node, first),
                              core::dtype_name(one), input_text(node, second), core::dtype_name(other)));
}

}  // namespace

Result<std::int64_t> checked_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      return op_error(fmt::format("the shape {} has a negative extent", core::shape_text(shape)));
    }
    empty = empty || extent == 0;
  }
  // An empty tensor's other extents are bounded too: kernels multiply them.
  for (const std::int64_t extent : shape) {
    if (extent == 0) {
      continue;
    }
    if (extent > kElementLimit / count) {
      return op_error(fmt::format("a tensor of shape {} would exceed the limit of {} elements", core::shape_text(shape),
                                  kElementLimit));
    }
    count *= extent;
  }
  return empty ? 0 : count;
}

Result<std::int64_t> checked_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return op_error(fmt::format("axis {} is outside [{}, {}) for a tensor of rank {}", axis, -rank, rank, rank));
  }
  return axis < 0 ? axis + rank : axis;
}

std::string output_text(const Node& node, std::size_t index) {
  return fmt::format("output {} \"{}\"", index, node.outputs[index]);
}
std::string input_text(const OpCall& call, std::size_t index) { return input_text(call.node, index); }
std::string input_text(const ShapeCall& call, std::size_t index) { return input_text(call.node, index); }

core::Status require_real(const OpCall& call, std::size_t index) {
  return check_kind(call.node, index, call.in(index).type(), &core::is_real, "a floating point type");
}
core::Status require_real(const ShapeCall& call, std::size_t index) {
  return check_kind(call.node, index, call.in(index).type, &core::is_real, "a floating point type");
}

core::Status require_integer(const OpCall& call, std::size_t index) {
  return check_kind(call.node, index, call.in(index).type(), &core::is_integer, "an integer type");
}
core::Status require_integer(const ShapeCall& call, std::size_t index) {
  return check_kind(call.node, index, call.in(index).type, &core::is_integer, "an integer type");
}

core::Status require_type(const OpCall& call, std::size_t index, std::span<const DType> types) {
  return check_type(call.node, index, call.in(index).type(), types);
}
core::Status require_type(const ShapeCall& call, std::size_t index, std::span<const DType> types) {
  return check_type(call.node, index, call.in(index).type, types);
}

core::Status require_same_type(const OpCall& call, std::size_t first, std::size_t second) {
  if (!call.has_input(first) || !call.has_input(second)) return core::success();
  return check_same(call.node, first, call.in(first).type(), second, call.in(second).type());
}
core::Status require_same_type(const ShapeCall& call, std::size_t first, std::size_t second) {
  if (!call.has_input(first) || !call.has_input(second)) return core::success();
  return check_same(call.node, first, call.in(first).type, second, call.in(second).type);
}

AxisSplit split_at_axis(std::span<const std::int64_t> shape, std::int64_t axis) {
  const auto position = shape.begin() + axis;
  AxisSplit split;
  split.extent = *position;
  for (auto extent = shape.begin(); extent != position; ++extent) {
    split.outer *= *extent;
  }
  for (auto extent = position + 1; extent != shape.end(); ++extent) {
    split.inner *= *extent;
  }
  return split;
}

}  // namespace assay::reference
