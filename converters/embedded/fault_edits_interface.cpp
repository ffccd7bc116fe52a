// Edits of what the artifact declares of itself: its inputs and the shapes of its tensors.
#include <algorithm>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded::edits {

Status reverse_inputs(State& state) {
  std::ranges::reverse(state.artifact.graph.inputs);
  return core::success();
}

Status leave_inputs_as_codes(State& state) {
  auto& graph = state.artifact.graph;
  for (auto& input : graph.inputs) {
    const model::Wiring wiring(graph);
    const auto& readers = wiring.consumers(input.name);
    if (readers.size() != 1 || !is_op(graph.nodes[readers.front()], "QuantizeLinear")) continue;
    const auto params = declared_params(graph, graph.nodes[readers.front()]);
    if (!params) continue;
    const std::string codes = graph.nodes[readers.front()].outputs.front();
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(readers.front()));
    for (auto& node : graph.nodes) std::ranges::replace(node.inputs, codes, input.name);
    input.type = params->type;
  }
  return core::success();
}

Status declare_calibrated_shapes(State& state) {
  if (state.feed.empty()) return core::success();
  const auto program = engine::Program::compile_float(state.model);
  if (!program) return program.error();
  auto& graph = state.artifact.graph;
  const model::Wiring wiring(graph);
  const auto declare = [&](std::string_view name, const engine::TensorView& tensor) {
    const std::string text(name);
    if (!wiring.producer(text) || graph.find_output(name) != nullptr) return;
    model::ValueInfo info{text, tensor.type, std::vector<model::Dimension>{}};
    for (const std::int64_t extent : tensor.shape) info.shape->push_back({extent, ""});
    graph.value_info.push_back(std::move(info));
  };
  const auto ran = program->run(state.feed.front(), nullptr, declare);
  return ran ? core::success() : core::Status(ran.error());
}

}  // namespace assay::embedded::edits
