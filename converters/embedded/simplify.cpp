#include "converters/embedded/simplify.hpp"

#include <algorithm>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/pipeline.hpp"

namespace assay::embedded {
namespace {

bool passes_through(const model::Graph& graph, const model::Node& node) {
  if (!node.domain.empty()) return false;
  if (node.op_type == "Identity") return true;
  if (node.op_type != "Dropout" || node.outputs.size() > 1) return false;
  if (node.input(2).empty()) return true;
  const auto* training = graph.initializer(node.input(2));
  return training != nullptr && training->as_real(0) == 0;
}

/// The producer of an Identity's input takes over the graph output's name. Not where the input is a graph input, a
/// constant or a graph output itself: then the node has to stay.
bool take_over_output(model::Graph& graph, const std::string& input, const std::string& output) {
  if (graph.find_input(input) != nullptr || graph.initializers.contains(input) || graph.find_output(input) != nullptr) {
    return false;
  }
  redirect_readers(graph, input, output);
  for (auto& node : graph.nodes) std::ranges::replace(node.outputs, input, output);
  return true;
}

}  // namespace

std::string wanted_precision(const State& state, const model::Node& node) {
  const auto& precision = state.options.precision;
  if (precision.empty()) return "";
  if (const auto found = precision.find(node.name); found != precision.end()) return found->second;
  for (const auto& [original, computer] : state.computed_by) {
    if (computer != node.name) continue;
    if (const auto found = precision.find(original); found != precision.end()) return found->second;
  }
  if (const auto found = precision.find(model::operator_name(node)); found != precision.end()) return found->second;
  if (const auto found = precision.find("*"); found != precision.end()) return found->second;
  return "";
}

bool asked_in_float(const State& state, const model::Node& node) { return wanted_precision(state, node) == "fp32"; }

void remove_identities(State& state) {
  auto& graph = state.model.graph;
  for (std::size_t i = 0; i < graph.nodes.size();) {
    if (!passes_through(graph, graph.nodes[i])) {
      ++i;
      continue;
    }
    const model::Node node = graph.nodes[i];
    const auto input = node.inputs.front();
    const auto output = node.outputs.front();
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    if (graph.find_output(output) != nullptr && !take_over_output(graph, input, output)) {
      graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(i), node);
      ++i;
      continue;
    }
    if (graph.find_output(output) == nullptr) redirect_readers(graph, output, input);
    state.computed_by.erase(node.name);
  }
}

Status simplify(State& state) {
  for (const auto& node : state.original.graph.nodes) state.computed_by[node.name] = node.name;
  state.imported = model::is_quantized(state.original.graph);
  remove_identities(state);
  if (auto folded = fold_constants(state); !folded) return folded;
  fold_gemm_factors(state);
  fold_channel_addends(state);
  fold_batch_normalization(state);
  fold_channel_addends(state);  // behind a BatchNormalization that is gone now
  recognize_hard_swish(state);
  remove_dead(state.model.graph);
  return core::success();
}

}  // namespace assay::embedded
