#include <fmt/format.h>

#include <array>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

Result<Facts> infer_constant_of_shape(const ShapeCall& call) {
  constexpr std::array kInt64{DType::int64};
  if (const auto type = require_type(call, 0, kInt64); !type) return type.error();
  auto shape = extents_argument(call, 0);
  if (!shape) return shape.error();
  const auto value = call.node.tensor("value");
  if (value && value->size() != 1)
    return op_error(fmt::format("value is {}, expected one element", tensor_text(*value)));
  return one(value ? value->type() : DType::float32, std::move(*shape));
}

// ONNX ConstantOfShape-9: the one element of value, a float zero when it is left out.
Result<std::vector<Tensor>> run_constant_of_shape(const OpCall& call) {
  const auto shape = ruled_shape(call, &infer_constant_of_shape);
  if (!shape) return shape.error();
  const auto value = call.node.tensor("value");
  if (!value) return single_output(Tensor::zeros(DType::float32, *shape));
  if (value->is_real()) {
    return single_output(
        Tensor(value->type(), *shape, std::vector<double>(at(core::element_count(*shape)), value->reals()[0])));
  }
  return single_output(
      Tensor(value->type(), *shape, std::vector<std::int64_t>(at(core::element_count(*shape)), value->integers()[0])));
}

}  // namespace

const OpDef& op_constant_of_shape() {
  static const OpDef def{
      .name = "ConstantOfShape", .first_opset = 9, .run = &run_constant_of_shape, .infer = &infer_constant_of_shape};
  return def;
}

}  // namespace assay::reference
