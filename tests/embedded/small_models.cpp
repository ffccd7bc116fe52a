#include "tests/embedded/small_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "converters/embedded/engine/engine.hpp"
#include "harness/core/rng.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded {
namespace {

template <typename T>
T must(core::Result<T> result, const char* what) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
    std::abort();
  }
  return std::move(*result);
}

}  // namespace

core::Tensor floats(const core::Shape& shape, std::vector<double> values) {
  return core::rounded_to_type(core::Tensor(core::DType::float32, shape, std::move(values)));
}

core::Tensor ints(const core::Shape& shape, std::vector<std::int64_t> values) {
  return core::Tensor(core::DType::int64, shape, std::move(values));
}

core::Tensor drawn(const core::Shape& shape, std::uint64_t seed, double scale) {
  core::Rng rng(seed);
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (auto& value : values) value = scale * rng.normal();
  return floats(shape, std::move(values));
}

core::Tensor drawn_spread(const core::Shape& shape, std::size_t axis, std::uint64_t seed) {
  auto tensor = drawn(shape, seed);
  std::size_t inner = 1;
  for (auto i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto extent = static_cast<std::size_t>(shape[axis]);
  auto values = tensor.to_reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= std::pow(20.0, static_cast<double>(i / inner % extent) / static_cast<double>(extent));
  }
  return floats(shape, std::move(values));
}

model::Model make_model(const std::string& text, const std::map<std::string, core::Tensor>& constants,
                        std::int64_t opset) {
  auto model = must(model::parse_graph_text(text, {{"", opset}}), "graph text");
  for (const auto& [name, tensor] : constants) {
    model.graph.initializers[name] = std::make_shared<const core::Tensor>(tensor);
  }
  (void)must(model::normalize(model.graph), "normalize");
  return model;
}

std::vector<core::TensorMap> make_feed(const model::Model& model, int count, double low, double high) {
  std::vector<core::TensorMap> feed(static_cast<std::size_t>(count));
  core::Rng rng(5);
  for (auto& batch : feed) {
    for (const auto& input : model.graph.inputs) {
      core::Shape shape;
      for (const auto& extent : *input.shape) shape.push_back(extent.value.value_or(2));
      std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
      for (auto& value : values) value = rng.uniform(low, high);
      batch.emplace(input.name, floats(shape, std::move(values)));
    }
  }
  return feed;
}

core::Status run_until(State& state, std::string_view stage) {
  Passes passes;
  for (auto& pass : standard_passes()) {
    passes.push_back(pass);
    if (pass.stage == stage) break;
  }
  return run_passes(passes, state);
}

State state_of(const model::Model& model, const std::vector<core::TensorMap>& feed,
               const converters::Options& options) {
  State state;
  state.original = model;
  state.feed = feed;
  state.options = options;
  return state;
}

Conversion converted(const model::Model& model, const std::vector<core::TensorMap>& feed,
                     const converters::Options& options, const std::vector<std::string>& faults) {
  auto conversion = must(convert_in_memory(model, feed, options, faults), "convert_in_memory");
  EXPECT_EQ(conversion.reply.outcome, converters::Outcome::ok) << conversion.reply.reason;
  return conversion;
}

double sqnr_db(const core::TensorMap& expected, const core::TensorMap& actual) {
  double signal = 0;
  double noise = 0;
  for (const auto& [name, tensor] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end() || found->second.shape() != tensor.shape()) return -HUGE_VAL;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double value = tensor.as_real(i);
      const double error = value - found->second.as_real(i);
      signal += value * value;
      noise += error * error;
    }
  }
  return 10 * std::log10(signal / noise);
}

double sqnr_of(const model::Model& model, const model::Model& artifact, const core::TensorMap& inputs) {
  const auto expected = must(engine::run_float(model, inputs), "float run");
  const auto actual = must(run_artifact(artifact, inputs), "integer run");
  return sqnr_db(expected, actual);
}

std::string got(const Conversion& conversion, std::string_view node) {
  for (const auto& entry : conversion.reply.precision) {
    if (entry.node == node) return entry.got;
  }
  return "absent";
}

const core::QuantParams* params_of(const Conversion& conversion, std::string_view tensor) {
  for (const auto& entry : conversion.reply.tensors) {
    if (entry.name == tensor) return &entry.params;
  }
  return nullptr;
}

}  // namespace assay::embedded
