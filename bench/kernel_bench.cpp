// The two executors on one Conv, so that a slow kernel is seen before a slow run.
#include <benchmark/benchmark.h>

#include "converters/embedded/engine/engine.hpp"
#include "harness/core/rng.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace {

using namespace assay;

/// 3×3 Conv, 32 → 32 channels on 40×40: 14.7 million multiply-adds.
struct ConvCase {
  model::Model model;
  core::TensorMap inputs;
};

core::Tensor random_tensor(core::Shape shape, std::uint64_t seed) {
  core::Tensor tensor = core::Tensor::zeros(core::DType::float32, std::move(shape));
  core::Rng rng(seed);
  for (double& value : tensor.reals()) {
    value = core::round_to_type(rng.normal(), core::DType::float32);
  }
  return tensor;
}

ConvCase make_conv() {
  ConvCase made;
  made.model = *model::parse_graph_text(
      "g (float[1,32,40,40] x) => (float[1,32,40,40] y) { y = Conv <pads=[1,1,1,1]> (x, w) }", {{"", 13}});
  made.model.graph.initializers["w"] = std::make_shared<const core::Tensor>(random_tensor({32, 32, 3, 3}, 1));
  if (!model::normalize(made.model.graph)) {
    std::abort();
  }
  made.inputs.emplace("x", random_tensor({1, 32, 40, 40}, 2));
  return made;
}

void conv_reference(benchmark::State& state) {
  const ConvCase conv = make_conv();
  for (auto _ : state) {
    benchmark::DoNotOptimize(reference::execute(conv.model, conv.inputs));
  }
}
BENCHMARK(conv_reference)->Unit(benchmark::kMillisecond);

void conv_engine_float(benchmark::State& state) {
  const ConvCase conv = make_conv();
  for (auto _ : state) {
    benchmark::DoNotOptimize(embedded::engine::run_float(conv.model, conv.inputs));
  }
}
BENCHMARK(conv_engine_float)->Unit(benchmark::kMillisecond);

}  // namespace
