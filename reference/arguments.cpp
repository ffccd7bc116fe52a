#include "reference/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay::reference {

std::string tensor_text(const Tensor& tensor) {
  return fmt::format("{}{}", core::dtype_name(tensor.type()), core::shape_text(tensor.shape()));
}

Result<std::vector<Tensor>> single_output(Tensor tensor) {
  std::vector<Tensor> outputs;
  outputs.push_back(std::move(tensor));
  return outputs;
}

Result<std::vector<Tensor>> single_output(Result<Tensor> tensor) {
  if (!tensor) return tensor.error();
  return single_output(std::move(*tensor));
}

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

Result<std::vector<std::int64_t>> checked_axes(std::span<const std::int64_t> axes, std::int64_t rank) {
  std::vector<std::int64_t> from_front;
  for (const std::int64_t axis : axes) {
    const auto checked = checked_axis(axis, rank);
    if (!checked) return checked.error();
    if (std::ranges::find(from_front, *checked) != from_front.end()) {
      return op_error(fmt::format("axis {} is named twice in {}", *checked, core::shape_text(axes)));
    }
    from_front.push_back(*checked);
  }
  return from_front;
}

Result<std::vector<std::int64_t>> integer_list(const OpCall& call, std::size_t input) {
  const Tensor& tensor = call.in(input);
  if (!core::is_integer(tensor.type()) || tensor.rank() > 1) {
    return op_error(fmt::format("{} is {}, expected a list of integers", input_text(call, input), tensor_text(tensor)));
  }
  const auto values = tensor.integers();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

Result<std::int64_t> integer_scalar(const OpCall& call, std::size_t input) {
  const Tensor& tensor = call.in(input);
  if (!core::is_integer(tensor.type()) || tensor.size() != 1) {
    return op_error(fmt::format("{} is {}, expected one integer", input_text(call, input), tensor_text(tensor)));
  }
  return tensor.integers()[0];
}

Result<double> real_scalar(const OpCall& call, std::size_t input) {
  const Tensor& tensor = call.in(input);
  if (tensor.size() != 1) {
    return op_error(fmt::format("{} is {}, expected one element", input_text(call, input), tensor_text(tensor)));
  }
  return tensor.as_real(0);
}

Result<std::optional<std::vector<std::int64_t>>> list_argument(const OpCall& call, std::string_view attribute,
                                                               std::size_t input) {
  using List = std::optional<std::vector<std::int64_t>>;
  if (call.has_input(input)) {
    auto list = integer_list(call, input);
    if (!list) return list.error();
    return List(std::move(*list));
  }
  if (call.node.has(attribute)) return List(call.node.ints_or(attribute));
  return List();
}

Result<DType> type_argument(const OpCall& call, std::string_view attribute, DType fallback) {
  constexpr auto kNewestType = static_cast<std::int64_t>(DType::int2);
  const std::int64_t number = call.node.int_or(attribute, static_cast<std::int64_t>(fallback));
  if (number > 0 && number <= kNewestType) {
    const auto type = static_cast<DType>(number);
    if (core::is_real(type) || core::is_integer(type)) return type;
  }
  return op_unsupported(fmt::format("{}={} is an element type that the reference does not handle", attribute, number));
}

core::Status require_boolean(const OpCall& call, std::size_t input) {
  constexpr std::array kBoolean{DType::boolean};
  return require_type(call, input, kBoolean);
}

}  // namespace assay::reference
