#include "reference/quantized_form.hpp"

#include <array>
#include <utility>

#include "reference/arguments.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// Operands are codes, and a zero point has the type of its codes.
template <typename Call>
core::Status check_operands(const Call& call, const QuantizedForm& form) {
  core::Status status = core::success();
  for (std::size_t i = 0; i < form.count(call.inputs.size()) && status; ++i) {
    const std::size_t operand = form.operand(i);
    if (!call.has_input(operand) || !call.has_input(operand + 1)) {
      return op_error("an operand or its scale is left out");
    }
    status = require_type(call, operand, kByteTypes);
    status = status ? require_real(call, operand + 1) : status;
    status = status ? require_same_type(call, operand, operand + 2) : status;
  }
  if (status && !call.has_input(form.output)) return op_error("the result's scale is left out");
  status = status ? require_real(call, form.output) : status;
  return status && call.has_input(form.output + 1) ? require_type(call, form.output + 1, kByteTypes) : status;
}

/// The type of the result's codes: that of its zero point, else that of the first operand.
template <typename Call>
DType result_type(const Call& call, const QuantizedForm& form) {
  return input_type(call, call.has_input(form.output + 1) ? form.output + 1 : form.operand(0));
}

core::Status check_layout(const Node& node) {
  if (node.int_or("channels_last", 0) == 0) return core::success();
  return op_unsupported("attribute channels_last is 1, and only the layout [N,C,...] is computed");
}

/// The inputs of the operator on values, as tensors or as facts, where its operand is in blocks.
template <typename Input>
std::vector<const Input*> around_blocks(std::span<const Input* const> inputs, const QuantizedForm& form,
                                        const Input* values) {
  std::vector<const Input*> result(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(form.plain));
  result.push_back(values);
  if (form.behind) result.push_back(inputs[*form.behind]);
  return result;
}

constexpr std::int64_t kAddOpset = 14;

Result<std::vector<Tensor>> run_on_blocks(const OpCall& call, const QuantizedForm& form) {
  const Result<BlockCodes> blocks = form.unpack(call);
  if (!blocks) return blocks.error();
  const Tensor values = dequantized(*blocks);
  const auto inputs = around_blocks(call.inputs, form, &values);
  const Node node = on_values(call.node, form);
  auto result = find_operator("", form.op)->run({node, form.opset, inputs, call.run_subgraph});
  if (!result || !form.addend || !call.has_input(*form.addend)) return result;
  const std::array terms{&std::as_const(result->front()), call.optional_in(*form.addend)};
  return find_operator("", "Add")->run({node, kAddOpset, terms, call.run_subgraph});
}

Result<std::vector<TensorFacts>> infer_on_blocks(const ShapeCall& call, const QuantizedForm& form) {
  const auto values = form.values(call);
  if (!values) return values.error();
  const auto inputs = around_blocks(call.inputs, form, &values->front());
  const Node node = on_values(call.node, form);
  auto result = find_operator("", form.op)->infer({node, form.opset, inputs, call.infer_subgraph});
  if (!result || !form.addend || !call.has_input(*form.addend)) return result;
  const std::array terms{&std::as_const(result->front()), call.optional_in(*form.addend)};
  return find_operator("", "Add")->infer({node, kAddOpset, terms, call.infer_subgraph});
}

}  // namespace

Node on_values(const Node& node, const QuantizedForm& form) {
  Node result = node;
  result.op_type = form.op;
  result.domain.clear();
  if (form.unpack != nullptr) {
    result.attributes.clear();
    if (node.has(form.axis_attribute)) result.attributes["axis"] = node.int_or(form.axis_attribute, 0);
  }
  result.attributes.erase("channels_last");
  result.attributes.erase("opset");
  if (form.bias && node.has("alpha")) result.attributes["beta"] = node.float_or("alpha", 1);
  result.inputs.assign(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(form.plain));
  for (std::size_t i = 0; i < form.count(node.inputs.size()); ++i) {
    result.inputs.emplace_back(node.input(form.operand(i)));
  }
  if (form.behind) result.inputs.emplace_back(node.input(*form.behind));
  return result;
}

const QuantizedForm* quantized_form(const Node& node) {
  const OpDef* def = find_operator(node.domain, node.op_type);
  return def == nullptr ? nullptr : def->quantized;
}

Result<std::vector<Tensor>> run_quantized(const OpCall& call, const QuantizedForm& form) {
  if (form.unpack != nullptr) return run_on_blocks(call, form);
  core::Status status = check_layout(call.node);
  status = status ? check_operands(call, form) : status;
  if (!status) return status.error();
  const std::size_t count = form.count(call.inputs.size());
  std::vector<Tensor> values;
  values.reserve(count);
  const auto plain = call.inputs.first(form.plain);
  std::vector<const Tensor*> inputs(plain.begin(), plain.end());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t operand = form.operand(i);
    const Result<QuantInputs> quant = read_quant_inputs(call, operand + 1, operand + 2, 1);
    if (!quant) return quant.error();
    const Tensor& codes = call.in(operand);
    std::vector<double> real(at(codes.size()));
    dequantize(codes.integers(), quant->scale_at(0), quant->zero_point_at(0), real);
    inputs.push_back(&values.emplace_back(DType::float32, codes.shape(), std::move(real)));
  }
  const Result<QuantInputs> quant = read_quant_inputs(call, form.output, form.output + 1, 1);
  if (!quant) return quant.error();
  const Node node = on_values(call.node, form);
  const auto real =
      find_operator("", form.op)->run({node, call.node.int_or("opset", form.opset), inputs, call.run_subgraph});
  if (!real) return real.error();
  const Tensor& result = real->front();
  std::vector<std::int64_t> codes(at(result.size()));
  const DType type = result_type(call, form);
  quantize(result.reals(), quant->scale_at(0), quant->zero_point_at(0), type, codes);
  return single_output(Tensor(type, result.shape(), std::move(codes)));
}

Result<std::vector<TensorFacts>> infer_quantized(const ShapeCall& call, const QuantizedForm& form) {
  if (form.unpack != nullptr) return infer_on_blocks(call, form);
  core::Status status = check_layout(call.node);
  status = status ? check_operands(call, form) : status;
  if (!status) return status.error();
  const std::size_t count = form.count(call.inputs.size());
  std::vector<TensorFacts> values;
  values.reserve(count);
  const auto plain = call.inputs.first(form.plain);
  std::vector<const TensorFacts*> inputs(plain.begin(), plain.end());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t operand = form.operand(i);
    for (const std::size_t single : {operand + 1, operand + 2}) {
      if (status = require_single(call, single); !status) return status.error();
    }
    inputs.push_back(&values.emplace_back(typed(DType::float32, call.in(operand).shape)));
  }
  for (const std::size_t single : {form.output, form.output + 1}) {
    if (status = require_single(call, single); !status) return status.error();
  }
  const Node node = on_values(call.node, form);
  auto real =
      find_operator("", form.op)->infer({node, call.node.int_or("opset", form.opset), inputs, call.infer_subgraph});
  if (!real) return real.error();
  return one(result_type(call, form), std::move(real->front().shape));
}

}  // namespace assay::reference
