#include "tests/reference/op_case.hpp"

#include <gtest/gtest.h>

#include "reference/executor.hpp"

namespace assay::reference {
namespace {

std::vector<const Tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(&tensor);
  }
  return result;
}

}  // namespace

Tensor reals(std::vector<double> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return {DType::float32, Shape{size}, std::move(values)};
}

Tensor reals(Shape shape, std::vector<double> values) { return {DType::float32, std::move(shape), std::move(values)}; }

Tensor codes(DType type, Shape shape, std::vector<std::int64_t> values) {
  return {type, std::move(shape), std::move(values)};
}

Tensor scalar(double value) { return reals(Shape{}, {value}); }

Tensor scalar(DType type, std::int64_t value) { return codes(type, {}, {value}); }

Tensor counting(Shape shape, double first, double step) {
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = first + static_cast<double>(i) * step;
  }
  return reals(std::move(shape), std::move(values));
}

Result<std::vector<Tensor>> run_op(const std::string& op_type, const std::vector<const Tensor*>& inputs,
                                   const Attributes& attributes, std::int64_t opset, std::size_t outputs) {
  Node node;
  node.name = "n";
  model::set_operator(node, op_type);
  node.attributes = attributes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node.inputs.push_back(inputs[i] == nullptr ? "" : "in" + std::to_string(i));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back("out" + std::to_string(i));
  }
  return execute_node(node, opset, inputs);
}

Tensor first_output(const std::string& op_type, const std::vector<Tensor>& inputs, const Attributes& attributes,
                    std::int64_t opset) {
  const Result<std::vector<Tensor>> outputs = run_op(op_type, pointers(inputs), attributes, opset);
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  return outputs->front();
}

std::string error_of(const std::string& op_type, const std::vector<Tensor>& inputs, const Attributes& attributes,
                     std::int64_t opset) {
  const Result<std::vector<Tensor>> outputs = run_op(op_type, pointers(inputs), attributes, opset);
  if (outputs) {
    ADD_FAILURE() << op_type << " succeeded, expected an error";
    return {};
  }
  return outputs.error().message;
}

}  // namespace assay::reference
