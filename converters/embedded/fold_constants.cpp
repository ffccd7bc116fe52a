#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/scales.hpp"
#include "converters/embedded/simplify.hpp"

namespace assay::embedded {
namespace {

/// They give another result every time.
constexpr std::array<std::string_view, 6> kNeverFolded{"RandomNormal",      "RandomUniform", "RandomNormalLike",
                                                       "RandomUniformLike", "Bernoulli",     "Multinomial"};
/// A folded constant lies in the artifact: a graph that blows one up keeps its node.
constexpr std::int64_t kLargestFolded = std::int64_t{1} << 22U;

/// Codes stay codes, but where they are dequantized only to be quantized again as they were.
bool keeps_codes(const model::Graph& graph, const model::Wiring& wiring, const model::Node& node) {
  if (!is_op(node, "DequantizeLinear")) return false;
  const auto undone = [&](std::size_t reader) {
    const model::Node& next = graph.nodes[reader];
    const auto params = is_op(next, "QuantizeLinear") ? declared_params(graph, next) : std::nullopt;
    return params && params == declared_params(graph, node);
  };
  const auto& readers = wiring.consumers(node.outputs[0]);
  return readers.empty() || graph.find_output(node.outputs[0]) != nullptr || !std::ranges::all_of(readers, undone);
}

bool foldable(const model::Graph& graph, const model::Node& node) {
  if (std::ranges::find(kNeverFolded, model::operator_name(node)) != kNeverFolded.end()) return false;
  if (std::ranges::any_of(node.attributes, [](const auto& attribute) {
        return std::holds_alternative<model::GraphPtr>(attribute.second);
      })) {
    return false;
  }
  return std::ranges::all_of(node.inputs,
                             [&](const auto& input) { return input.empty() || graph.initializers.contains(input); });
}

}  // namespace

Status fold_constants(State& state) {
  auto& graph = state.model.graph;
  Names names(graph);
  const model::Wiring wiring(graph);
  std::set<std::string, std::less<>> keeping;
  for (const auto& node : graph.nodes) {
    if (keeps_codes(graph, wiring, node)) keeping.insert(node.outputs[0]);
  }
  std::vector<model::Node> kept;
  for (auto& node : graph.nodes) {
    if (keeping.contains(node.outputs.front()) || !foldable(graph, node)) {
      kept.push_back(std::move(node));
      continue;
    }
    std::vector<const Tensor*> inputs;
    for (const auto& input : node.inputs) inputs.push_back(graph.initializer(input));
    auto values = engine::evaluate_node(node, state.model.opset(), inputs);
    const bool fits =
        values && std::ranges::all_of(*values, [](const Tensor& value) { return value.size() <= kLargestFolded; });
    if (!fits) {
      kept.push_back(std::move(node));
      continue;
    }
    // A constant output stays a node's output; readers have a constant.
    const bool shows = std::ranges::any_of(
        node.outputs, [&](const std::string& output) { return graph.find_output(output) != nullptr; });
    for (std::size_t i = 0; i < node.outputs.size() && i < values->size(); ++i) {
      if (node.outputs[i].empty()) continue;
      std::string name = node.outputs[i];
      if (shows) {
        if (!(*values)[i].is_real()) continue;  // codes of the model's own keep their quantizer
        name = names.fresh(name + "_folded");
        redirect_readers(graph, node.outputs[i], name);
      }
      graph.initializers[name] = std::make_shared<const Tensor>(std::move((*values)[i]));
    }
    if (shows) {
      kept.push_back(std::move(node));
    } else {
      state.computed_by.erase(node.name);
    }
  }
  graph.nodes = std::move(kept);
  return core::success();
}

}  // namespace assay::embedded
