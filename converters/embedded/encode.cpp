#include "converters/embedded/pipeline.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded {

Status encode(State& state) {
  const auto& graph = state.model.graph;
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    const auto& plan = state.plan.nodes[i];
    auto& codes = state.codes[i];
    if (codes.weight) {
      codes.weight->codes = codes_of(*graph.initializer(graph.nodes[i].input(*plan.weight)), codes.weight->params);
    }
    if (codes.bias) {
      auto values = graph.initializer(graph.nodes[i].input(*plan.bias))->to_reals();
      const auto& params = codes.bias->params;
      if (params.axis) values.resize(params.scale.size(), values.front());  // one value for all channels
      const auto count = static_cast<std::int64_t>(values.size());
      codes.bias->codes = codes_of(Tensor(DType::float32, {count}, std::move(values)), params);
    }
  }
  state.constant_codes.clear();
  for (const auto& name : state.plan.quantized) {
    if (const auto* constant = graph.initializer(name)) {
      state.constant_codes[name] = codes_of(*constant, state.params[name]);
    }
  }
  return core::success();
}

}  // namespace assay::embedded
