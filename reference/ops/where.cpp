#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

template <typename Value>
std::vector<Value> select(const Tensor& condition, std::span<const Value> x, const Shape& shape_x,
                          std::span<const Value> y, const Shape& shape_y, const Shape& shape) {
  std::vector<Value> values(at(core::element_count(shape)));
  for_each_broadcast<3>(shape,
                        {broadcast_strides(condition.shape(), shape), broadcast_strides(shape_x, shape),
                         broadcast_strides(shape_y, shape)},
                        [&](std::int64_t position, const std::array<std::int64_t, 3>& from) {
                          const bool first = condition.integers()[at(from[0])] != 0;
                          values[at(position)] = first ? x[at(from[1])] : y[at(from[2])];
                        });
  return values;
}

// ONNX Where-16: x where the condition holds, y elsewhere; the three are broadcast together.
Result<std::vector<Tensor>> run_where(const OpCall& call) {
  if (const auto boolean = require_boolean(call, 0); !boolean) return boolean.error();
  if (const auto same = require_same_type(call, 1, 2); !same) return same.error();
  const Tensor& x = call.in(1);
  const Tensor& y = call.in(2);
  const auto values_shape = broadcast_shape(x.shape(), y.shape());
  if (!values_shape) return values_shape.error();
  const auto shape = broadcast_shape(call.in(0).shape(), *values_shape);
  if (!shape) return shape.error();
  if (x.is_real()) {
    return single_output(
        Tensor(x.type(), *shape, select<double>(call.in(0), x.reals(), x.shape(), y.reals(), y.shape(), *shape)));
  }
  return single_output(Tensor(
      x.type(), *shape, select<std::int64_t>(call.in(0), x.integers(), x.shape(), y.integers(), y.shape(), *shape)));
}

Result<Facts> infer_where(const ShapeCall& call) {
  constexpr std::array kBoolean{DType::boolean};
  if (const auto boolean = require_type(call, 0, kBoolean); !boolean) return boolean.error();
  if (const auto same = require_same_type(call, 1, 2); !same) return same.error();
  const auto values = broadcast_known(call.in(1).shape, call.in(2).shape);
  if (!values) return values.error();
  auto shape = broadcast_known(call.in(0).shape, *values);
  if (!shape) return shape.error();
  return one(call.in(1).type == DType::undefined ? call.in(2).type : call.in(1).type, std::move(*shape));
}

}  // namespace

const OpDef& op_where() {
  static const OpDef def{.name = "Where",
                         .first_opset = 9,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &run_where,
                         .infer = &infer_where,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
