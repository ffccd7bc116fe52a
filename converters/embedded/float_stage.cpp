#include <fmt/format.h>

#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/pipeline.hpp"

namespace assay::embedded {
namespace {

/// Zeros of the declared shapes, free extents 1: stands in for a feed where the ranges come from a cache.
TensorMap zero_batch(const model::Graph& graph) {
  TensorMap batch;
  for (const auto& input : graph.inputs) {
    core::Shape shape;
    if (input.shape) {
      for (const auto& extent : *input.shape) shape.push_back(extent.value.value_or(1));
    }
    batch.emplace(input.name, Tensor::zeros(input.type, std::move(shape)));
  }
  return batch;
}

}  // namespace

Status run_in_float(State& state) {
  const auto program = engine::Program::compile_float(state.model);
  if (!program) return program.error();
  const auto note = [&](std::string_view name, const engine::TensorView& tensor) {
    state.facts[std::string(name)] = {tensor.type, static_cast<std::int64_t>(tensor.shape.size())};
  };
  const auto ran = program->run(state.feed.empty() ? zero_batch(state.model.graph) : state.feed.front(), nullptr, note);
  if (!ran) return ran.error();
  return core::success();
}

}  // namespace assay::embedded
