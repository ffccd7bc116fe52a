// What the fault table costs a converter that has none of them switched on: conversions by the standard passes, and by
// the machine that faults would be built into; executions with the default arithmetic, and with that machine's.
#include <benchmark/benchmark.h>

#include "converters/embedded/embedded.hpp"
#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/machine.hpp"
#include "harness/core/rng.hpp"
#include "harness/model/onnx_io.hpp"

namespace {

using namespace assay;

struct Network {
  model::Model model;
  std::vector<core::TensorMap> batches;
};

core::Tensor random_tensor(core::Shape shape, core::Rng& rng) {
  core::Tensor tensor = core::Tensor::zeros(core::DType::float32, std::move(shape));
  for (double& value : tensor.reals()) {
    value = core::round_to_type(rng.normal(), core::DType::float32);
  }
  return tensor;
}

/// Two 3×3 Conv with Relu and a residual Add, 16 channels on 16×16, four calibration batches.
Network make_network() {
  core::Rng rng(7);
  Network made;
  made.model = *model::parse_graph_text(
      "g (float[1,16,16,16] x) => (float[1,16,16,16] y) { a = Conv <pads=[1,1,1,1]> (x, w) r = Relu(a) "
      "b = Conv <pads=[1,1,1,1]> (r, v) y = Add(b, x) }",
      {{"", 13}});
  for (const char* name : {"w", "v"}) {
    made.model.graph.initializers[name] = std::make_shared<const core::Tensor>(random_tensor({16, 16, 3, 3}, rng));
  }
  if (!model::normalize(made.model.graph)) {
    std::abort();
  }
  constexpr int kBatches = 4;
  for (int i = 0; i < kBatches; ++i) {
    made.batches.push_back({{"x", random_tensor({1, 16, 16, 16}, rng)}});
  }
  return made;
}

model::Model convert(const Network& network, const embedded::Passes& passes, benchmark::State& state) {
  embedded::State conversion;
  conversion.original = network.model;
  conversion.feed = network.batches;
  if (const auto done = embedded::run_passes(passes, conversion); !done) {
    state.SkipWithError(done.error().message.c_str());
  }
  return std::move(conversion.artifact);
}

void convert_by_standard_passes(benchmark::State& state) {
  const Network network = make_network();
  for (auto _ : state) {
    benchmark::DoNotOptimize(convert(network, embedded::standard_passes(), state));
  }
}
BENCHMARK(convert_by_standard_passes)->Unit(benchmark::kMillisecond);

void convert_with_no_fault_on(benchmark::State& state) {
  const Network network = make_network();
  for (auto _ : state) {
    benchmark::DoNotOptimize(convert(network, embedded::build_machine({}, "")->passes, state));
  }
}
BENCHMARK(convert_with_no_fault_on)->Unit(benchmark::kMillisecond);

void execute_with(benchmark::State& state, const embedded::engine::ArithmeticPolicy& policy) {
  const Network network = make_network();
  const model::Model artifact = convert(network, embedded::standard_passes(), state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(embedded::engine::run_quantized(artifact, network.batches[0], policy));
  }
}
void execute_by_default_arithmetic(benchmark::State& state) { execute_with(state, {}); }
BENCHMARK(execute_by_default_arithmetic)->Unit(benchmark::kMillisecond);
void execute_with_no_fault_on(benchmark::State& state) { execute_with(state, embedded::build_machine({}, "")->policy); }
BENCHMARK(execute_with_no_fault_on)->Unit(benchmark::kMillisecond);

}  // namespace
