#include <algorithm>

#include "converters/embedded/channels.hpp"
#include "converters/embedded/edit.hpp"
#include "converters/embedded/simplify.hpp"

namespace assay::embedded {
namespace {

/// The output channels of a Conv or ConvTranspose whose weight is constant, as codes or not.
std::optional<std::size_t> output_channels(const model::Graph& graph, const model::Wiring& wiring,
                                           const model::Node& node) {
  if (node.op_type != "Conv" && node.op_type != "ConvTranspose") return std::nullopt;
  const auto* weight = graph.initializer(node.input(1));
  if (weight == nullptr) {
    const auto dequantize = wiring.producer(node.input(1));
    if (!dequantize || graph.nodes[*dequantize].op_type != "DequantizeLinear") return std::nullopt;
    weight = graph.initializer(graph.nodes[*dequantize].input(0));
  }
  const auto layout = weight == nullptr ? std::nullopt : weight_layout(node, weight->shape());
  return layout ? std::optional(layout->channels) : std::nullopt;
}

/// True where `addend` holds one value per channel, aligned with axis 1 of a tensor of `rank`, and broadcasts nothing.
bool is_per_channel(const Tensor& addend, std::size_t channels, std::int64_t rank) {
  if (!addend.is_real() || static_cast<std::size_t>(addend.size()) != channels || addend.rank() > rank) return false;
  const auto axis = 1 - (rank - addend.rank());
  return axis >= 0 && addend.shape()[static_cast<std::size_t>(axis)] == addend.size();
}

bool fold_one_bias(State& state, std::size_t index) {
  auto& graph = state.model.graph;
  const model::Node add = graph.nodes[index];
  if (asked_in_float(state, add)) return false;
  const model::Wiring wiring(graph);
  for (const std::size_t side : {0U, 1U}) {
    const auto producer = wiring.producer(add.input(side));
    const auto* addend = graph.initializer(add.input(1 - side));
    if (!producer || addend == nullptr || only_reader(graph, wiring, add.input(side)) != index) continue;
    auto& node = graph.nodes[*producer];
    const auto channels = output_channels(graph, wiring, node);
    const auto facts = state.facts.find(node.outputs.front());
    if (!channels || facts == state.facts.end() || !is_per_channel(*addend, *channels, facts->second.rank)) continue;
    const auto* bias = graph.initializer(node.input(2));
    if (bias == nullptr && !node.input(2).empty()) continue;
    auto values = addend->to_reals();
    for (std::size_t c = 0; c < values.size() && bias != nullptr; ++c) {
      values[c] += bias->as_real(static_cast<std::int64_t>(c));
    }
    Names names(graph);
    const auto name = names.fresh(bias == nullptr ? std::string(add.input(1 - side)) + "_bias"
                                                  : std::string(node.input(2)) + "_folded");
    const auto count = static_cast<std::int64_t>(values.size());
    graph.initializers[name] =
        std::make_shared<const Tensor>(core::rounded_to_type(Tensor(DType::float32, {count}, std::move(values))));
    node.inputs.resize(3);
    node.inputs[2] = name;
    node.outputs[0] = add.outputs[0];
    for (auto& [original, computer] : state.computed_by) {
      if (computer == add.name) computer = node.name;
    }
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(index));
    return true;
  }
  return false;
}

}  // namespace

void fold_channel_addends(State& state) {
  for (std::size_t i = 0; i < state.model.graph.nodes.size();) {
    const bool folded = state.model.graph.nodes[i].op_type == "Add" && fold_one_bias(state, i);
    if (!folded) ++i;
  }
}

}  // namespace assay::embedded
