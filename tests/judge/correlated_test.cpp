#include "harness/judge/quantization/correlated.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

/// `original` converted by somebody who tells nothing but outputs, on inputs that are the calibration data too.
Judged judge_outputs(const model::Model& original, const core::TensorMap& inputs) {
  Judged judged(original, original);
  judged.opaque = true;
  judged.evidence.options.activation = DType::int8;
  judged.add("typical", inputs, {});
  judged.calibrate();
  return judged;
}

struct Walked {
  QuantizationPlan plan;
  CorrelatedBound correlated;
  std::map<std::string, Enclosure> plain;  ///< before the tensor's own rounding

  Walked(const LayerContext& context, const core::TensorMap& inputs) : plan(context), correlated(plan, false) {
    BoundWalk walk(plan, inputs, {}, {});
    walk.observe_nodes([&](std::size_t entry, const std::string& tensor, const auto& before, const auto& read,
                           const Enclosure& output) { correlated.record(entry, tensor, before, read, output); });
    walk.run(
        [&](const Alignment::Operation*, const std::string& tensor, const Enclosure& value) { plain[tensor] = value; });
  }
  Walked(const Walked&) = delete;
};

TEST(Chord, OfReluHalvesWhatCrossesZero) {
  // Around 1 within [-1, 3]: 2·(1 - slope) above, 2·slope - 1 below, equal at 3/4.
  const Chord above = fit_chord(1, 1, {{-1, 0}, {0, 0}, {3, 3}});
  EXPECT_NEAR(above.slope, 0.75, 1e-3);
  EXPECT_NEAR(above.spread, 0.5, 1e-3);
  const Chord below = fit_chord(-1, 0, {{-3, 0}, {0, 0}, {1, 1}});
  EXPECT_NEAR(below.slope, 0.25, 1e-3);
  EXPECT_NEAR(below.spread, 0.5, 1e-3);
}

TEST(Chord, OfAStraightLineHasNoSpread) {
  EXPECT_EQ(fit_chord(2, 2, {{1, 1}, {3, 3}}).slope, 1);
  EXPECT_EQ(fit_chord(2, 2, {{1, 1}, {3, 3}}).spread, 0);
}

TEST(Correlated, WhatTwoPathsCarryFromOneSourceCancels) {
  // y = (x·[1 1])·[1 -1]ᵀ: the rounding of x reaches y once with each sign.
  const model::Model original = parse("g (float[5,1] x) => (float[5,1] y) { h = MatMul(x, a) y = MatMul(h, b) }",
                                      {{"a", reals({1, 2}, {1, 1})}, {"b", reals({2, 1}, {1, -1})}});
  const core::TensorMap inputs{{"x", reals({5, 1}, {-1, -0.5, 0.25, 0.75, 1})}};
  Judged judged = judge_outputs(original, inputs);
  const LayerContext context = judged.context();
  Walked walked(context, inputs);
  const double step = walked.plan.roundings("x").front().span->step;
  const std::size_t inside = 2;  // 0.25
  const auto radius = walked.correlated.radius("y", inside);
  ASSERT_TRUE(radius);
  EXPECT_NEAR(radius_of(walked.plain.at("y"))[inside] - *radius, 2 * step / 2, 1e-6);
}

TEST(Correlated, HoldsForEveryQuantizedNetwork) {
  core::Rng rng(20261121);
  int elements = 0, narrower = 0;
  for (int net = 0; net < 200; ++net) {
    const auto draw = [&](const Shape& shape, double reach) {
      std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
      for (double& value : values) value = float32(rng.uniform(-reach, reach));
      return reals(shape, std::move(values));
    };
    const model::Model original =
        parse("g (float[4,6] x) => (float[4,6] y) { h = MatMul(x, a) r = Relu(h) m = MatMul(r, b) y = Sub(m, x) }",
              {{"a", draw({6, 8}, 1)}, {"b", draw({8, 6}, 1)}});
    const core::TensorMap inputs{{"x", draw({4, 6}, 2)}};
    Judged judged = judge_outputs(original, inputs);
    const LayerContext context = judged.context();
    Walked walked(context, inputs);
    // The same network with every tensor but the output rounded by legal parameters.
    core::TensorMap values{{"x", inputs.at("x")}};
    const auto round = [&](const std::string& name) {
      const core::QuantParams& params = judged.audited.at(name);
      for (double& value : values.at(name).reals()) {
        const auto limits = core::integer_limits(params.type);
        const double code = std::nearbyint(value / params.scale[0]) + static_cast<double>(params.zero_point[0]);
        value = (std::clamp(code, static_cast<double>(limits.low), static_cast<double>(limits.high)) -
                 static_cast<double>(params.zero_point[0])) *
                params.scale[0];
      }
    };
    round("x");
    for (const model::Node& node : original.graph.nodes) {
      std::vector<const Tensor*> operands;
      for (const std::string& name : node.inputs) {
        const auto constant = original.graph.initializers.find(name);
        operands.push_back(constant != original.graph.initializers.end() ? constant->second.get() : &values.at(name));
      }
      values[node.outputs[0]] = reference::execute_node(node, 13, operands).value().front();
      if (node.outputs[0] != "y") round(node.outputs[0]);
    }
    const Enclosure& plain = walked.plain.at("y");
    const std::vector<double> limit = radius_of(plain);
    for (std::size_t i = 0; i < limit.size(); ++i) {
      const auto radius = walked.correlated.radius("y", i);
      ASSERT_TRUE(radius);
      const double error = std::fabs(values.at("y").reals()[i] - plain.centre->reals()[i]);
      EXPECT_LE(error, *radius) << "network " << net << " element " << i << ", plain limit " << limit[i];
      ++elements;
      narrower += *radius < 0.95 * limit[i] ? 1 : 0;
    }
  }
  EXPECT_GT(narrower * 2, elements);
  std::printf("  %d of %d elements have a limit at least 5 %% narrower than the plain one\n", narrower, elements);
}

}  // namespace
}  // namespace assay::judge::testing
