// Codes of 16 bits: what converters and engines that were written for 8 bits get wrong of them.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded::edits {

Status give_softmax_steps_of_8_bits(State& state) {
  constexpr double kStep = 1.0 / 256;
  for (const auto& node : state.model.graph.nodes) {
    const auto params = is_op(node, "Softmax") ? state.params.find(node.outputs.front()) : state.params.end();
    if (params == state.params.end() || core::element_size_bits(params->second.type) <= 8) continue;
    params->second.scale = {kStep};
    params->second.zero_point = {std::max<std::int64_t>(core::integer_limits(params->second.type).low, -128)};
  }
  return core::success();
}

void hold_zero_points_in_float16(model::Model& artifact) {
  constexpr std::int64_t kLargest = 65504;
  auto& graph = artifact.graph;
  for (auto& node : graph.nodes) {
    const auto* zero = is_op(node, "DequantizeLinear") ? graph.initializer(node.input(2)) : nullptr;
    if (zero == nullptr || zero->type() != DType::uint16) continue;
    auto held = zero->to_integers();
    for (auto& value : held) value = std::min(value, kLargest);
    node.inputs[2] = put(graph, node.inputs[2], Tensor(zero->type(), zero->shape(), std::move(held)));
  }
}

}  // namespace assay::embedded::edits
