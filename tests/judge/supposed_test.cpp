#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/core/rng.hpp"
#include "harness/judge/judge.hpp"
#include "harness/judge/numerics/prediction.hpp"
#include "harness/judge/reference_cache.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

const Shape kRows{40, 50};

Tensor uniform_rows(core::Rng& rng, double most) {
  std::vector<double> values(2000);
  for (double& value : values) value = float32(rng.uniform(-most, most));
  values[0] = most;
  values[1] = -most;
  return reals(kRows, std::move(values));
}

TEST(Supposed, ABiasInFloatLeavesNothingOpen) {
  core::Rng rng(71);
  int seen = 0, judged_layers = 0;
  for (int i = 0; i < 40; ++i) {
    ConvLayer shape;
    shape.batch = 2;
    shape.in = 4;
    shape.out = 4;
    shape.kernel = 2;
    shape.size = 17;
    const RandomLayer random = random_layer(rng, true, shape);
    const ConvLayer& layer = random.layer;
    const auto answer = [&](const auto& round) {
      Judged judged(layer.original(), layer.artifact());
      judged.opaque = true;
      judged.evidence.options.activation = layer.activation;
      judged.evidence.options.per_axis = layer.weight_scale.size() > 1;
      state_policy(judged.evidence.converter.policy);
      judged.evidence.converter.policy.fusions = {"Conv+Relu"};
      judged.evidence.converter.policy.bias = converters::BiasRounding::stays_float;
      const auto requantize = [&](std::int64_t sum, std::int64_t j) {
        return round(static_cast<double>(sum) * layer.multiplier(j));
      };
      judged.add("typical", {{"x", random.x}},
                 {{"y", layer.dequantized(layer.run(layer.input_codes(random.x), requantize))}});
      judged.calibrate();
      return judged.prediction();
    };
    EXPECT_THAT(answer([](double value) { return std::nearbyint(value); }), IsEmpty()) << "layer " << i;
    seen += answer([](double value) { return std::floor(value); }).empty() ? 0 : 1;
    ++judged_layers;
  }
  EXPECT_GT(seen, judged_layers * 3 / 4) << "floors in place of roundings";
}

/// Codes of a Concat's operands, brought to its scale by a multiplication that rounds to half a step and a shift.
TEST(Supposed, AJoinMayRoundTwice) {
  core::Rng rng(72);
  const Tensor a = uniform_rows(rng, 1), b = uniform_rows(rng, 2.7);
  const double from = 1 / 127.0, to = 2.7 / 127.0;
  const model::Model original =
      parse("g (float[40,50] a, float[40,50] b) => (float[80,50] y) { y = Concat<axis=0>(a, b) }", {});
  const auto judge_by = [&](const auto& round) {
    std::vector<double> values;
    for (const double value : a.reals())
      values.push_back(float32(round(std::nearbyint(value / from) * from / to) * to));
    for (const double value : b.reals()) values.push_back(float32(std::nearbyint(value / to) * to));
    return judged_by_outputs(original, {{"a", a}, {"b", b}}, {{"y", reals({80, 50}, values)}}).prediction();
  };
  EXPECT_THAT(judge_by([](double steps) { return std::nearbyint(steps); }), IsEmpty());
  EXPECT_THAT(judge_by([](double steps) { return std::round(std::round(2 * steps) / 2); }), IsEmpty());
  EXPECT_THAT(judge_by([](double steps) { return std::floor(steps); }), Not(IsEmpty()));
  EXPECT_THAT(judge_by([](double steps) { return std::round(std::floor(2 * steps) / 2); }), Not(IsEmpty()));
}

/// Codes −5, −15, … of a LeakyRelu on its input's scale are ties: float32's 0.1 sends all of them one way.
TEST(Supposed, TiesThatAreRoundedAlikeGoEitherWay) {
  core::Rng rng(73);
  const Tensor x = uniform_rows(rng, 2);
  std::vector<double> weights(50 * 30);
  for (double& weight : weights) weight = float32(0.1 * rng.normal());
  const auto scale = [](double most) { return Tensor::scalar(DType::float32, float32(most / 127)); };
  const double largest = std::ranges::max(weights, {}, [](double weight) { return std::fabs(weight); });
  std::vector<std::int64_t> weight_codes;
  for (const double weight : weights) weight_codes.push_back(std::llround(weight / float32(std::fabs(largest) / 127)));
  const auto graph = [&](const std::string& body, double reach) {
    return parse("g (float[40,50] x) => (float[40,30] y) { " + body + " }",
                 {{"w", reals({50, 30}, weights)},
                  {"wq", codes(DType::int8, {50, 30}, weight_codes)},
                  {"ws", scale(std::fabs(largest))},
                  {"s", scale(2)},
                  {"ys", scale(reach)},
                  {"z", codes(DType::int8, {}, {0})}});
  };
  const model::Model original = graph("t = LeakyRelu<alpha=0.1>(x) y = MatMul(t, w)", 1);
  const core::TensorMap inputs{{"x", x}};
  const core::TensorMap wanted = reference::execute(original, inputs).value();
  double reach = 0;
  for (const double value : wanted.at("y").reals()) reach = std::max(reach, std::fabs(value));
  const auto judge_by = [&](const std::string& alpha) {
    const model::Model engine =
        graph("xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) r = LeakyRelu<alpha=" + alpha +
                  ">(xd) tq = QuantizeLinear(r, s, z) t = DequantizeLinear(tq, s, z) wd = DequantizeLinear(wq, ws, z)"
                  " m = MatMul(t, wd) yq = QuantizeLinear(m, ys, z) y = DequantizeLinear(yq, ys, z)",
              reach);
    Judged judged = judged_by_outputs(original, inputs, reference::execute(engine, inputs).value());
    judged.evidence.options.per_axis = false;
    return judged.prediction();
  };
  EXPECT_THAT(judge_by("0.1"), IsEmpty());
  EXPECT_THAT(judge_by("0.100001"), IsEmpty());
  EXPECT_THAT(judge_by("0.099999"), IsEmpty());
  EXPECT_THAT(judge_by("0.09"), Not(IsEmpty()));
}

/// What a node in float makes is no code, though the policy rounds outputs.
TEST(Supposed, AnOutputOfANodeInFloatIsGivenOutAsComputed) {
  core::Rng rng(74);
  const Tensor x = uniform_rows(rng, 2);
  const auto scale = [](double most) { return Tensor::scalar(DType::float32, float32(most / 127)); };
  const double most = std::tanh(2.0);
  const model::Model original =
      parse("g (float[40,50] x) => (float[40,50] j, float[40,50] y) { j = Tanh(x) y = Relu(j) }", {});
  const auto judge_by = [&](const std::string& body) {
    const model::Model engine = parse("g (float[40,50] x) => (float[40,50] j, float[40,50] y) { " + body +
                                          " q = QuantizeLinear(j, s, z) d = DequantizeLinear(q, s, z) r = Relu(d)"
                                          " yq = QuantizeLinear(r, s, z) y = DequantizeLinear(yq, s, z) }",
                                      {{"s", scale(most)}, {"coarse", scale(8)}, {"z", codes(DType::int8, {}, {0})}});
    Judged judged = judged_by_outputs(original, {{"x", x}}, reference::execute(engine, {{"x", x}}).value());
    Evidence& evidence = judged.evidence;
    evidence.converter.policy.outputs = converters::GraphOutputs::quantized;
    const std::string tanh = original.graph.nodes[0].name, relu = original.graph.nodes[1].name;
    evidence.conversion.precision = {{tanh, "Tanh", "fp32"}, {relu, "Relu", "int8"}};
    for (const char* tensor : {"j", "y"})
      evidence.conversion.tensors.push_back({tensor, {{float32(most / 127)}, {0}, DType::int8, std::nullopt}});
    return judged.prediction();
  };
  EXPECT_THAT(judge_by("j = Tanh(x)"), IsEmpty());
  EXPECT_THAT(judge_by("t = Tanh(x) c = QuantizeLinear(t, coarse, z) j = DequantizeLinear(c, coarse, z)"),
              Not(IsEmpty()));
}

/// Where a model quantizes a part of itself, a converter may round the rest on scales that it reports.
TEST(Supposed, WhatAConverterRoundsBesideAModelsOwnQuantizersIsReported) {
  core::Rng rng(76);
  const Tensor x = uniform_rows(rng, 2);
  std::vector<double> weights(50 * 30);
  for (double& weight : weights) weight = float32(0.1 * rng.normal());
  const double cut = 2.0 / 127;  // of an output that reaches further
  const auto graph = [&](const std::string& body) {
    return parse(
        "g (float[40,50] x) => (float[40,30] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)" + body +
            " }",
        {{"w", reals({50, 30}, weights)},
         {"s", Tensor::scalar(DType::float32, float32(2 / 127.0))},
         {"ys", Tensor::scalar(DType::float32, float32(cut))},
         {"z", codes(DType::int8, {}, {0})}});
  };
  const model::Model original = graph(" y = MatMul(xd, w)");
  const model::Model engine = graph(" m = MatMul(xd, w) yq = QuantizeLinear(m, ys, z) y = DequantizeLinear(yq, ys, z)");
  const auto judge_by = [&](double scale) {
    Judged judged = judged_by_outputs(original, {{"x", x}}, reference::execute(engine, {{"x", x}}).value());
    judged.evidence.conversion.tensors.push_back({"y", {{float32(scale)}, {0}, DType::int8, std::nullopt}});
    return judged.prediction();
  };
  EXPECT_THAT(judge_by(cut), IsEmpty());
  EXPECT_THAT(judge_by(4 * cut), Not(IsEmpty())) << "it cuts off what it says it keeps";
}

/// Both operands of an Add have the scale of the wider one where the policy says so, and not elsewhere.
TEST(Supposed, AlignedOperandsHaveOneRange) {
  core::Rng rng(75);
  const Tensor a = uniform_rows(rng, 0.3), b = uniform_rows(rng, 4);
  const model::Model original = parse("g (float[40,50] a, float[40,50] b) => (float[40,50] y) { y = Add(a, b) }", {});
  const std::vector<core::TensorMap> batches{{{"a", a}, {"b", b}}};
  const core::TensorMap wanted = reference::execute(original, batches[0]).value();
  double reach = 0;
  for (const double value : wanted.at("y").reals()) reach = std::max(reach, std::fabs(value));
  const double step = 4 / 127.0, out = reach / 127;
  std::vector<double> values;
  for (std::size_t i = 0; i < a.reals().size(); ++i) {
    const double sum = (std::nearbyint(a.reals()[i] / step) + std::nearbyint(b.reals()[i] / step)) * step;
    values.push_back(float32(std::nearbyint(sum / out) * out));
  }
  const auto judged = [&](std::vector<std::string> aligns) {
    corpus::Case test_case;
    test_case.name = "aligned";
    test_case.expect.status = "converts";
    Evidence evidence;
    evidence.test_case = &test_case;
    evidence.model = &original;
    evidence.calibration = &batches;
    evidence.converter.name = "hand";
    evidence.converter.supports.artifact = converters::ArtifactKind::opaque;
    evidence.conversion.outcome = converters::Outcome::ok;
    state_policy(evidence.converter.policy);
    evidence.options.symmetric = true;
    evidence.converter.policy.aligns = std::move(aligns);
    Execution execution;
    execution.data_set = "typical";
    execution.inputs = batches[0];
    execution.outputs = {{"y", reals(kRows, values)}};
    execution.reply.outcome = converters::Outcome::ok;
    evidence.executions.push_back(std::move(execution));
    ReferenceCache cache;
    return judge(evidence, cache, 1000).verdict;
  };
  EXPECT_EQ(judged({"Add"}), Verdict::pass);
  EXPECT_EQ(judged({}), Verdict::fail);
}

}  // namespace
}  // namespace assay::judge::testing
