#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "harness/metamorphic/twin_makers.hpp"

namespace assay::metamorphic {
namespace {

using core::Tensor;
using core::TensorMap;
using model::Model;
using model::Node;

/// Operators that treat every channel (axis 1) alike and alone, with one input that is no constant.
bool keeps_channels(const Node& node) {
  static const std::set<std::string> kOperators = {
      "Relu",     "LeakyRelu",   "Sigmoid",  "HardSigmoid",       "Tanh",         "Clip", "HardSwish",
      "MaxPool",  "AveragePool", "Identity", "Dropout",           "Erf",          "Elu",  "Selu",
      "Softplus", "Abs",         "Neg",      "GlobalAveragePool", "GlobalMaxPool"};
  return node.domain.empty() && kOperators.contains(node.op_type);
}

/// The node that alone makes the graph's only output, through operators that keep channels apart; nothing where there
/// is no such chain.
std::optional<std::size_t> layer_behind_output(const model::Graph& graph) {
  if (graph.outputs.size() != 1) {
    return std::nullopt;
  }
  const model::Wiring wiring(graph);
  std::string tensor = graph.outputs.front().name;
  while (true) {
    const std::optional<std::size_t> maker = wiring.producer(tensor);
    const bool read_once = maker && wiring.consumers(tensor).size() == (wiring.is_output(tensor) ? 0U : 1U);
    if (!maker || !read_once || graph.nodes[*maker].outputs.size() != 1) {
      return std::nullopt;
    }
    if (!keeps_channels(graph.nodes[*maker])) {
      return maker;
    }
    tensor = graph.nodes[*maker].inputs.front();
  }
}

/// Slices of `tensor` along `axis` in the order of `from`.
Tensor reordered(const Tensor& tensor, std::size_t axis, const std::vector<std::int64_t>& from) {
  const core::Shape& shape = tensor.shape();
  const auto here = static_cast<std::ptrdiff_t>(axis);
  const std::int64_t outer = core::element_count(std::span(shape).first(axis));
  const std::int64_t inner = core::element_count(std::span(shape).subspan(axis + 1));
  const std::int64_t extent = *(shape.begin() + here);
  Tensor copy = tensor;
  for (std::int64_t block = 0; block < outer; ++block) {
    for (std::int64_t slice = 0; slice < extent; ++slice) {
      const std::int64_t source = (block * extent + from[static_cast<std::size_t>(slice)]) * inner;
      const auto begin = tensor.reals().begin() + source;
      std::copy(begin, begin + inner, copy.reals().begin() + (block * extent + slice) * inner);
    }
  }
  return copy;
}

/// [N, C, …] as rows of C: [N·…, C].
Tensor as_rows(const Tensor& tensor) {
  const core::Shape& shape = tensor.shape();
  const std::int64_t channels = shape[1];
  const std::int64_t pixels = core::element_count(std::span(shape).subspan(2));
  std::vector<double> values(tensor.reals().size());
  for (std::int64_t index = 0; index < tensor.size(); ++index) {
    const std::int64_t pixel = index % pixels;
    const std::int64_t channel = index / pixels % channels;
    const std::int64_t image = index / pixels / channels;
    values[static_cast<std::size_t>((image * pixels + pixel) * channels + channel)] =
        tensor.reals()[static_cast<std::size_t>(index)];
  }
  return {tensor.type(), {shape[0] * pixels, channels}, std::move(values)};
}

}  // namespace

core::Result<Twin> permute_channels(const Model& model, const Batches& /*calibration*/) {
  const std::optional<std::size_t> layer = layer_behind_output(model.graph);
  if (!layer || model.graph.nodes[*layer].op_type != "Conv") {
    return not_applicable("no Conv makes the only output through operators that keep channels apart");
  }
  const Node& node = model.graph.nodes[*layer];
  const Tensor* weight = model.graph.initializer(node.input(1));
  const Tensor* bias = model.graph.initializer(node.input(2));
  if (weight == nullptr || !weight->is_real() || (!node.input(2).empty() && bias == nullptr)) {
    return not_applicable(fmt::format("the weight or bias of \"{}\" is no initializer", node.name));
  }
  const std::int64_t groups = node.int_or("group", 1);
  const std::int64_t channels = weight->shape()[0];
  const std::int64_t size = channels / groups;
  if (size < 2) {
    return not_applicable(fmt::format("\"{}\" has one output channel in a group", node.name));
  }
  std::vector<std::int64_t> from;  // the channels of each group the other way round
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    from.push_back(channel / size * size + (size - 1 - channel % size));
  }
  const auto permuted = [from](const TensorMap& outputs) {
    TensorMap copies;
    for (const auto& [name, tensor] : outputs) {
      copies.emplace(name, reordered(tensor, 1, from));
    }
    return Batches{std::move(copies)};
  };
  Twin twin{model, [](const TensorMap& inputs) { return Batches{inputs}; }, permuted, {}};
  model::Graph& graph = twin.model.graph;
  const auto replace = [&](std::size_t index, const Tensor& value) {
    // A copy of its own: another node may share the constant.
    const std::string copy = model::fresh_name(graph, node.inputs[index] + "_permuted");
    graph.initializers.emplace(copy, std::make_shared<const Tensor>(reordered(value, 0, from)));
    graph.nodes[*layer].inputs[index] = copy;
  };
  replace(1, *weight);
  if (bias != nullptr) {
    replace(2, *bias);
  }
  return twin;
}

core::Result<Twin> conv_as_gemm(const Model& model, const Batches& /*calibration*/) {
  const model::Graph& original = model.graph;
  const core::Error other = not_applicable("the graph is not one Conv 1x1 with elementwise operators behind it");
  if (original.inputs.size() != 1 || original.outputs.size() != 1 || original.nodes.empty() ||
      original.nodes.front().op_type != "Conv") {
    return other;
  }
  const Node& conv = original.nodes.front();
  const Tensor* weight = original.initializer(conv.input(1));
  const Tensor* bias = original.initializer(conv.input(2));
  const auto all_are = [&](std::string_view attribute, std::int64_t value) {
    const std::vector<std::int64_t> values = conv.ints_or(attribute);
    return std::all_of(values.begin(), values.end(), [&](std::int64_t each) { return each == value; });
  };
  if (weight == nullptr || !weight->is_real() || (!conv.input(2).empty() && bias == nullptr) ||
      core::element_count(std::span(weight->shape()).subspan(2)) != 1 || conv.int_or("group", 1) != 1 ||
      !all_are("strides", 1) || !all_are("pads", 0)) {
    return other;
  }
  const std::set<std::string> elementwise = {"Relu", "LeakyRelu", "Sigmoid",  "HardSigmoid",
                                             "Tanh", "Clip",      "HardSwish"};
  std::string tensor = conv.outputs.front();
  for (std::size_t index = 1; index < original.nodes.size(); ++index) {
    const Node& node = original.nodes[index];
    if (!elementwise.contains(node.op_type) || node.inputs.front() != tensor) {
      return other;
    }
    tensor = node.outputs.front();
  }
  const auto rows = [](const TensorMap& tensors) {
    TensorMap copies;
    for (const auto& [name, value] : tensors) {
      copies.emplace(name, as_rows(value));
    }
    return Batches{std::move(copies)};
  };
  Twin twin{model, rows, rows, {}};
  model::Graph& graph = twin.model.graph;
  const std::string copy = model::fresh_name(graph, conv.inputs[1] + "_matrix");
  graph.initializers.erase(conv.inputs[1]);
  graph.initializers.emplace(
      copy, std::make_shared<const Tensor>(weight->reshaped({weight->shape()[0], weight->shape()[1]})));
  Node& gemm = graph.nodes.front();
  gemm.op_type = "Gemm";
  gemm.inputs[1] = copy;
  gemm.attributes = {{"transB", std::int64_t{1}}};
  graph.value_info.clear();
  const model::Dimension any{std::nullopt, "rows"};
  graph.inputs.front().shape = {any, {weight->shape()[1], ""}};
  graph.outputs.front().shape = {any, {weight->shape()[0], ""}};
  return twin;
}

}  // namespace assay::metamorphic
