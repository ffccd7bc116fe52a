#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "converters/embedded/engine/engine.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded::engine::test {

using core::DType;
using core::Shape;
using core::Tensor;
using core::TensorMap;

inline Tensor floats(Shape shape, std::vector<double> values) {
  return {DType::float32, std::move(shape), std::move(values)};
}
inline Tensor ints(DType type, Shape shape, std::vector<std::int64_t> values) {
  return {type, std::move(shape), std::move(values)};
}
inline Tensor int8s(Shape shape, std::vector<std::int64_t> values) {
  return ints(DType::int8, std::move(shape), std::move(values));
}
inline Tensor int64s(Shape shape, std::vector<std::int64_t> values) {
  return ints(DType::int64, std::move(shape), std::move(values));
}

/// A model from ONNX's textual syntax with initializers given by name.
inline model::Model model_of(const std::string& graph, const std::map<std::string, Tensor>& initializers = {},
                             std::int64_t opset = 13) {
  auto model = model::parse_graph_text(graph, {{"", opset}});
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return {};
  }
  for (const auto& [name, tensor] : initializers) {
    model->graph.initializers[name] = std::make_shared<const Tensor>(tensor);
  }
  std::erase_if(model->graph.inputs, [&](const auto& input) { return initializers.contains(input.name); });
  if (const auto status = model::normalize(model->graph); !status) ADD_FAILURE() << status.error().message;
  return std::move(*model);
}

/// A Q/DQ graph built node by node around one or more operators under test.
class GraphMaker {
 public:
  explicit GraphMaker(std::int64_t opset = 13) { model_.opsets[""] = opset; }

  void initializer(const std::string& name, const Tensor& tensor) {
    model_.graph.initializers[name] = std::make_shared<const Tensor>(tensor);
  }
  /// A graph input that is quantized with these parameters; the dequantized tensor is NAME_dq, its codes NAME_q.
  std::string input(const std::string& name, const Shape& shape, double scale, std::int64_t zero_point,
                    DType type = DType::int8) {
    std::vector<model::Dimension> dimensions;
    for (const std::int64_t extent : shape) dimensions.push_back({extent, ""});
    model_.graph.inputs.push_back({name, DType::float32, dimensions});
    return quantized(name, scale, zero_point, type);
  }
  /// Quantize and dequantize an existing tensor.
  std::string quantized(const std::string& name, double scale, std::int64_t zero_point, DType type = DType::int8) {
    parameters(name, {scale}, {zero_point}, type);
    node("QuantizeLinear", {name, name + "_scale", name + "_zero"}, name + "_q");
    node("DequantizeLinear", {name + "_q", name + "_scale", name + "_zero"}, name + "_dq");
    return name + "_dq";
  }
  /// Constant codes behind DequantizeLinear.
  std::string constant(const std::string& name, const Tensor& codes, std::vector<double> scale,
                       std::vector<std::int64_t> zero_point = {}, std::int64_t axis = 0) {
    if (zero_point.empty()) zero_point.assign(scale.size(), 0);
    const bool per_axis = scale.size() > 1;
    initializer(name + "_codes", codes);
    parameters(name, std::move(scale), std::move(zero_point), codes.type());
    model::Node& made = node("DequantizeLinear", {name + "_codes", name + "_scale", name + "_zero"}, name + "_dq");
    if (per_axis) made.attributes["axis"] = axis;
    return name + "_dq";
  }
  model::Node& node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                    std::map<std::string, model::Attribute> attributes = {}) {
    model::Node made;
    made.name = output;
    made.op_type = op;
    made.inputs = std::move(inputs);
    made.outputs = {output};
    made.attributes = std::move(attributes);
    return model_.graph.nodes.emplace_back(std::move(made));
  }
  void output(const std::string& name) { model_.graph.outputs.push_back({name, DType::undefined, std::nullopt}); }
  /// Quantizes `name` with these parameters and makes the result an output.
  void quantized_output(const std::string& name, double scale, std::int64_t zero_point, DType type = DType::int8) {
    output(quantized(name, scale, zero_point, type));
  }
  [[nodiscard]] const model::Model& model() const { return model_; }

 private:
  void parameters(const std::string& name, std::vector<double> scale, std::vector<std::int64_t> zero_point,
                  DType type) {
    const Shape shape = scale.size() == 1 ? Shape{} : Shape{std::ssize(scale)};
    initializer(name + "_scale", core::rounded_to_type(Tensor(DType::float32, shape, std::move(scale))));
    initializer(name + "_zero", Tensor(type, shape, std::move(zero_point)));
  }

  model::Model model_;
};

/// Runs the artifact and gives the trace of codes; records a failure when it does not run.
inline TensorMap codes_of(const model::Model& artifact, const TensorMap& inputs, const ArithmeticPolicy& policy = {}) {
  TensorMap trace;
  const auto outputs = run_quantized(artifact, inputs, policy, &trace);
  if (!outputs) ADD_FAILURE() << outputs.error().message;
  return trace;
}
inline std::vector<std::int64_t> codes_of(const model::Model& artifact, const TensorMap& inputs,
                                          const std::string& tensor, const ArithmeticPolicy& policy = {}) {
  const auto trace = codes_of(artifact, inputs, policy);
  const auto it = trace.find(tensor);
  if (it == trace.end()) {
    ADD_FAILURE() << "no codes of " << tensor;
    return {};
  }
  return it->second.to_integers();
}
inline std::vector<std::string> integer_nodes_of(const model::Model& artifact) {
  const auto nodes = integer_nodes(artifact);
  if (!nodes) ADD_FAILURE() << nodes.error().message;
  return nodes ? *nodes : std::vector<std::string>{};
}

}  // namespace assay::embedded::engine::test
