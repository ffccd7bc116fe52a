#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

template <typename Value>
Result<std::vector<Tensor>> list(DType type, std::vector<Value> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return single_output(Tensor(type, {count}, std::move(values)));
}

// ONNX Constant-13: exactly one attribute holds the value.
Result<std::vector<Tensor>> run_constant(const OpCall& call) {
  const Node& node = call.node;
  if (const auto value = node.tensor("value")) return single_output(*value);
  if (node.has("value_float")) {
    return single_output(Tensor(DType::float32, {}, std::vector<double>{node.float_or("value_float", 0.0)}));
  }
  if (node.has("value_int")) {
    return single_output(Tensor(DType::int64, {}, std::vector<std::int64_t>{node.int_or("value_int", 0)}));
  }
  if (node.has("value_floats")) return list(DType::float32, node.floats_or("value_floats"));
  if (node.has("value_ints")) return list(DType::int64, node.ints_or("value_ints"));
  return op_unsupported("has none of value, value_float(s), value_int(s); strings and sparse values are not handled");
}

Result<Facts> infer_constant(const ShapeCall& call) {
  if (const auto value = call.node.tensor("value")) return Facts{facts_of(value)};
  auto values = run_constant({.node = call.node, .opset = call.opset, .inputs = {}});
  if (!values) return values.error();
  return Facts{facts_of(std::make_shared<const Tensor>(std::move(values->front())))};
}

}  // namespace

const OpDef& op_constant() {
  static const OpDef def{
      .name = "Constant", .min_inputs = 0, .max_inputs = 0, .run = &run_constant, .infer = &infer_constant};
  return def;
}

}  // namespace assay::reference
