// What a defective engine takes an artifact for. The artifact itself stays as it was written.
#include <algorithm>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"

namespace assay::embedded::edits {
namespace {

using model::Graph;
using model::Model;
using model::Node;

bool has_window(const Node& node) {
  return is_op(node, "Conv") || is_op(node, "MaxPool") || is_op(node, "AveragePool");
}

/// The QuantizeLinear behind every node `op` takes the parameters of what the node reads: codes pass as they are.
void copy_codes(Model& artifact, std::string_view op) {
  auto& graph = artifact.graph;
  const model::Wiring wiring(graph);
  for (const auto& node : graph.nodes) {
    const auto source = is_op(node, op) ? wiring.producer(node.input(0)) : std::nullopt;
    if (!source || !is_op(graph.nodes[*source], "DequantizeLinear")) continue;
    for (const auto reader : wiring.consumers(node.outputs.front())) {
      if (!is_op(graph.nodes[reader], "QuantizeLinear")) continue;
      graph.nodes[reader].inputs[1] = graph.nodes[*source].inputs[1];
      graph.nodes[reader].inputs[2] = graph.nodes[*source].inputs[2];
    }
  }
}

}  // namespace

void swap_pads(Model& artifact) {
  for (auto& node : artifact.graph.nodes) {
    auto pads = node.ints_or("pads");
    if (!has_window(node) || pads.empty()) continue;
    const auto half = static_cast<std::ptrdiff_t>(pads.size() / 2);
    std::swap_ranges(pads.begin(), pads.begin() + half, pads.begin() + half);
    node.attributes["pads"] = pads;
  }
}

void pad_upper(Model& artifact) {
  for (auto& node : artifact.graph.nodes) {
    if (node.string_or("auto_pad", "") == "SAME_LOWER") node.attributes["auto_pad"] = std::string("SAME_UPPER");
  }
}

void forget_pad_value(Model& artifact) {
  for (auto& node : artifact.graph.nodes) {
    if (is_op(node, "Pad") && node.inputs.size() > 2) node.inputs[2].clear();
  }
}

void clip_to_six(Model& artifact) {
  auto& graph = artifact.graph;
  constexpr double kSix = 6;
  for (auto& node : graph.nodes) {
    if (!is_op(node, "Clip")) continue;
    node.inputs.resize(1);
    node.inputs.push_back(put(graph, "clip_low", Tensor::scalar(DType::float32, 0)));
    node.inputs.push_back(put(graph, "clip_high", Tensor::scalar(DType::float32, kSix)));
  }
}

void leave_relu_to_saturation(Model& artifact) {
  auto& graph = artifact.graph;
  const model::Wiring wiring(graph);
  for (const auto& node : graph.nodes) {
    if (!is_op(node, "Relu")) continue;
    for (const auto reader : wiring.consumers(node.outputs.front())) {
      auto& next = graph.nodes[reader];
      if (is_op(next, "QuantizeLinear")) next.inputs[0] = node.inputs[0];
    }
  }
  remove_dead(graph);
}

void copy_leaky_codes(Model& artifact) { copy_codes(artifact, "LeakyRelu"); }
void copy_pool_codes(Model& artifact) { copy_codes(artifact, "MaxPool"); }

void first_slope_for_all(Model& artifact) {
  auto& graph = artifact.graph;
  const model::Wiring wiring(graph);
  for (auto& node : graph.nodes) {
    if (!is_op(node, "PRelu")) continue;
    std::string* name = &node.inputs[1];
    if (const auto source = wiring.producer(*name)) name = &graph.nodes[*source].inputs[0];
    const auto* slopes = graph.initializer(*name);
    if (slopes == nullptr || slopes->size() == 0) continue;
    Tensor first = *slopes;
    const auto fill = [](auto values) { std::ranges::fill(values, values.front()); };
    first.is_real() ? fill(first.reals()) : fill(first.integers());
    *name = put(graph, "first_slope", std::move(first));
  }
}

void drop_rest_of_channels(Model& artifact) {
  constexpr std::int64_t kVector = 8;
  auto& graph = artifact.graph;
  const model::Wiring wiring(graph);
  for (auto& node : graph.nodes) {
    if (!is_op(node, "Conv") || node.int_or("group", 1) != 1) continue;
    std::string* name = &node.inputs[1];
    if (const auto source = wiring.producer(*name)) name = &graph.nodes[*source].inputs[0];
    const auto* weight = graph.initializer(*name);
    if (weight == nullptr || weight->rank() < 2) continue;
    const auto channels = weight->shape()[1], whole = channels / kVector * kVector;
    if (whole == 0 || whole == channels) continue;
    Tensor cut = *weight;
    const auto inner = cut.size() / (cut.shape()[0] * channels);
    const auto forget = [&](auto values) {
      for (std::int64_t i = 0; i < cut.size(); ++i) {
        if (i / inner % channels >= whole) values[static_cast<std::size_t>(i)] = 0;
      }
    };
    cut.is_real() ? forget(cut.reals()) : forget(cut.integers());
    *name = put(graph, "whole_vectors", std::move(cut));
  }
}

void sigmoid_for_swish(Model& artifact) {
  constexpr double kSixth = 1.0 / 6;
  for (auto& node : artifact.graph.nodes) {
    if (!is_op(node, "HardSwish")) continue;
    node.op_type = "HardSigmoid";
    node.attributes["alpha"] = kSixth;
    node.attributes["beta"] = 0.5;
  }
}

void take_negative_indices_as_zero(Model& artifact) {
  auto& graph = artifact.graph;
  Names names(graph);
  std::string zero;
  std::vector<Node> nodes;
  for (auto& node : graph.nodes) {
    if (is_op(node, "GatherElements") || is_op(node, "ScatterElements")) {
      if (zero.empty()) zero = put(graph, "first_index", Tensor(DType::int64, {}, std::vector<std::int64_t>{0}));
      const auto wide = names.fresh(node.inputs[1] + "_wide");
      const auto cut = names.fresh(node.inputs[1] + "_cut");
      nodes.push_back({wide, "Cast", "", {node.inputs[1]}, {wide}, {{"to", static_cast<std::int64_t>(DType::int64)}}});
      nodes.push_back({cut, "Max", "", {wide, zero}, {cut}, {}});
      node.inputs[1] = cut;
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

void pad_frames_to_power_of_two(Model& artifact) {
  auto& graph = artifact.graph;
  Names names(graph);
  const auto put_integers = [&](const std::string& stem, std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return put(graph, stem, Tensor(DType::int64, {count}, std::move(values)));
  };
  std::vector<Node> nodes;
  for (auto& node : graph.nodes) {
    const Tensor* window = is_op(node, "STFT") ? graph.initializer(node.input(2)) : nullptr;
    const std::int64_t length = window == nullptr ? 1 : window->size();
    std::int64_t padded = 1;
    while (padded < length) padded *= 2;
    if (window == nullptr || padded == length) {
      nodes.push_back(std::move(node));
      continue;
    }
    // The signal gets as many samples more, whatever they are: the window ends in zeros, and the frames stay as many.
    std::vector<double> weights = window->to_reals();
    weights.resize(static_cast<std::size_t>(padded), 0.0);
    const std::string signal = node.inputs[0], spectrum = node.outputs[0];
    const std::string end = names.fresh(signal + "_end"), longer = names.fresh(signal + "_longer"),
                      whole = names.fresh(spectrum + "_whole");
    const std::int64_t bins = node.int_or("onesided", 1) != 0 ? length / 2 + 1 : length;
    const std::string first = put_integers("first", {0});
    nodes.push_back({end,
                     "Slice",
                     "",
                     {signal, first, put_integers("more", {padded - length}), put_integers("time", {1})},
                     {end},
                     {}});
    nodes.push_back({longer, "Concat", "", {signal, end}, {longer}, {{"axis", std::int64_t{1}}}});
    node.inputs[0] = longer;
    node.inputs[2] = put(graph, "padded_window", Tensor(DType::float32, {padded}, std::move(weights)));
    node.inputs.resize(3);  // the window says how long the frames are
    node.outputs[0] = whole;
    nodes.push_back(std::move(node));
    nodes.push_back({names.fresh(spectrum + "_cut"),
                     "Slice",
                     "",
                     {whole, first, put_integers("bins", {bins}), put_integers("frequency", {2})},
                     {spectrum},
                     {}});
  }
  graph.nodes = std::move(nodes);
}

}  // namespace assay::embedded::edits
