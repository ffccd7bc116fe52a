#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "harness/judge/facets/noise_evidence.hpp"
#include "harness/judge/facets/output_grid.hpp"
#include "harness/judge/quantization/noise.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ConvLayer::Requantize nearest(const ConvLayer& layer) {
  return [&layer](std::int64_t sum, std::int64_t j) {
    return std::nearbyint(static_cast<double>(sum) * layer.multiplier(j));
  };
}

/// The layer as its engine gives it, ready to be judged; the options are those it was quantized with.
Judged judge_layer(const ConvLayer& layer, const Tensor& x, const std::vector<std::int64_t>& y, bool symmetric) {
  Judged judged(layer.original(), layer.artifact());
  judged.evidence.options.activation = layer.activation;
  judged.evidence.options.symmetric = symmetric;
  judged.evidence.options.per_axis = layer.weight_scale.size() > 1;
  judged.add("typical", {{"x", x}}, {{"y", layer.dequantized(y)}});
  judged.calibrate();
  return judged;
}

TEST(Bounds, RaisesNoAlarmOnCorrectLayers) {
  constexpr int kLayers = 1200;
  core::Rng rng(4711);
  int alarms = 0;
  double largest = 0, largest_opaque = 0;
  for (int i = 0; i < kLayers; ++i) {
    const bool symmetric = rng.integer(0, 1) == 1;
    const RandomLayer random = random_layer(rng, !symmetric);
    const ConvLayer& layer = random.layer;
    Judged judged = judge_layer(layer, random.x, layer.run(layer.input_codes(random.x), nearest(layer)), symmetric);
    for (const bool opaque : {false, true}) {
      judged.opaque = opaque;
      const auto findings = judged.bounds();
      EXPECT_THAT(judged.judgement.layers, ElementsAre("L2"));
      (opaque ? largest_opaque : largest) =
          std::max(opaque ? largest_opaque : largest, judged.judgement.margin.value_or(0));
      if (!findings.empty()) {
        ++alarms;
        ADD_FAILURE() << "layer " << i << " of seed 4711, " << (opaque ? "opaque" : "qdq") << ": "
                      << findings[0].message;
      }
    }
  }
  EXPECT_EQ(alarms, 0);
  std::printf("  largest margin of %d correct layers: qdq %.3f, opaque %.3f\n", kLayers, largest, largest_opaque);
}

TEST(Bounds, CatchesSeededConversionDefects) {
  struct Defect {
    const char* name;
    std::function<void(ConvLayer&)> spoil;
    int least_percent, least_opaque_percent;
  };
  const std::vector<Defect> defects{
      {"one channel's weight scale doubled", [](ConvLayer& l) { l.weight_scale[0] = float32(l.weight_scale[0] * 2); },
       85, 50},
      {"bias dropped", [](ConvLayer& l) { l.bias_codes.assign(l.bias_codes.size(), 0); }, 85, 60},
      {"weight scales rolled",
       [](ConvLayer& l) { std::rotate(l.weight_scale.begin(), l.weight_scale.begin() + 1, l.weight_scale.end()); }, 85,
       50},
      {"weight codes truncated to even",
       [](ConvLayer& l) {
         for (auto& code : l.weight_codes) code = code / 8 * 8;
       },
       40, 5},
      {"output scale halved", [](ConvLayer& l) { l.output_scale = float32(l.output_scale / 2); }, 85, 80},
      {"output scale doubled", [](ConvLayer& l) { l.output_scale = float32(l.output_scale * 2); }, 50, 5},
      {"input scale halved", [](ConvLayer& l) { l.input_scale = float32(l.input_scale / 2); }, 85, 50},
      {"one output channel negated",
       [](ConvLayer& l) {
         const auto per = static_cast<std::size_t>(l.products());
         for (std::size_t k = 0; k < per; ++k) l.weight_codes[k] = -l.weight_codes[k];
       },
       85, 60},
  };
  for (const Defect& defect : defects) {
    core::Rng rng(99);
    int visible = 0, caught = 0, caught_opaque = 0;
    for (int i = 0; i < 120; ++i) {
      const RandomLayer random = random_layer(rng);
      const ConvLayer& right = random.layer;
      ConvLayer wrong = right;
      defect.spoil(wrong);
      const auto y_right = right.dequantized(right.run(right.input_codes(random.x), nearest(right)));
      const auto codes = wrong.run(wrong.input_codes(random.x), nearest(wrong));
      if (wrong.dequantized(codes) == y_right) {
        continue;
      }
      ++visible;
      Judged judged = judge_layer(wrong, random.x, codes, false);
      caught += judged.bounds().empty() ? 0 : 1;
      judged.opaque = true;
      caught_opaque += judged.bounds().empty() ? 0 : 1;
    }
    std::printf("  %s: of %d that change an output, caught %d with the artifact, %d by the outputs alone\n",
                defect.name, visible, caught, caught_opaque);
    EXPECT_GE(caught * 100, visible * defect.least_percent) << defect.name;
    EXPECT_GE(caught_opaque * 100, visible * defect.least_opaque_percent) << defect.name;
  }
}

/// y = x·w for one number: s_x = s_w = s_y = 1/127 · 1, so every term of the bound can be written down.
ConvLayer one_product() {
  ConvLayer layer;
  layer.weights = {0.5};
  layer.bias = {0};
  layer.activation = DType::int8;
  layer.input_scale = layer.output_scale = 1;
  layer.weight_scale = {float32(0.5 / 127)};
  layer.weight_codes = {127};
  layer.bias_codes = {0};
  return layer;
}

/// The finding of the end-to-end gate for one output of one_product(), audited with unit scales.
std::vector<Finding> gate(double x, double y) {
  const ConvLayer layer = one_product();
  Judged judged(layer.original(), layer.artifact());
  judged.add("extremes", {{"x", reals({1, 1, 1, 1}, {x})}}, {{"y", reals({1, 1, 1, 1}, {y})}});
  judged.calibrate();
  for (const char* tensor : {"x", "y"}) {
    judged.audited[tensor] = {{1.0}, {0}, DType::int8, std::nullopt};
  }
  judged.opaque = true;
  return judged.bounds();
}

TEST(Bounds, HandWorkedLimitPassesAndJustPastItFails) {
  // x = 10: δx = ½, δw = 0.5/127/2, so |w|δx + |x|δw + δxδw = 0.25 + 0.01969 + 0.00098, the output's half step 0.5, and
  // a quarter for an engine that may round twice, for input and output: 0.125 + the product with δw, and 0.25.
  const double half = 0.5 / 127 / 2;
  const double limit = 0.5 * 0.75 + 10 * half + 0.75 * half + 0.75;
  EXPECT_THAT(gate(10, 5 + limit * 0.9999), IsEmpty());
  EXPECT_THAT(gate(10, 5 - limit * 0.9999), IsEmpty());
  EXPECT_EQ(gate(10, 5 + limit * 1.0001).size(), 1U);
  EXPECT_EQ(gate(10, 5 - limit * 1.0001).size(), 1U);
}

TEST(Bounds, ZeroInputLeavesOnlyTheOutputsRounding) {
  EXPECT_THAT(gate(0, 0), IsEmpty());
  const auto findings = gate(0, 1);  // an exact zero is exact: not even one step is granted
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].margin, HUGE_VAL);
  EXPECT_THAT(findings[0].message, ::testing::HasSubstr("error 1, limit 0: nothing is rounded there"));
}

TEST(Bounds, NotANumberIsOutsideEveryLimit) {
  const auto findings = gate(10, NAN);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::nan);
}

/// The artifact as the reference executes it.
std::vector<Finding> bounds_of(const std::string& original, const std::map<std::string, Tensor>& weights,
                               const std::string& artifact, const std::map<std::string, Tensor>& constants,
                               const core::TensorMap& inputs, const std::function<void(Judged&)>& change = nullptr) {
  Judged judged(parse(original, weights), parse(artifact, constants));
  judged.add("typical", inputs, reference::execute(*judged.artifact, inputs).value());
  judged.calibrate();
  if (change) change(judged);
  return judged.bounds();
}

/// u + 40 where both and the sum have symmetric codes of magnitude ÷ 128: of the constant, 40 lies beyond the last
/// code.
TEST(Bounds, AConstantBeyondTheLastCodeIsAWholeStepOff) {
  const double us = 2.0 / 128, cs = 40.0 / 128, ys = 42.0 / 128;
  const std::map<std::string, Tensor> weights{{"c", reals({2}, {40, 40})}};
  const core::TensorMap inputs{{"u", reals({2}, {float32(0.1), 2})}};
  const auto findings = [&](double constant) {
    Judged judged(parse("g (float[2] u) => (float[2] y) { y = Add(u, c) }", weights),
                  parse("a (float[2] u) => (float[2] y) { y = Add(u, c) }", weights));
    judged.opaque = true;
    judged.evidence.options.symmetric = true;
    judged.evidence.converter.policy.divisor = 128;
    std::vector<double> y;
    for (const double u : inputs.at("u").reals()) {
      const double sum = std::min(std::nearbyint(u / us), 127.0) * us + constant;
      y.push_back(float32(std::min(std::nearbyint(sum / ys), 127.0) * ys));
    }
    judged.add("typical", inputs, {{"y", reals({2}, y)}});
    judged.calibrate();
    return judged.bounds();
  };
  EXPECT_THAT(findings(127 * cs), IsEmpty());
  EXPECT_EQ(findings(126 * cs).size(), 1U);
}

TEST(Bounds, AConstantThatWasComputedAndQuantizedIsHalfAStepOff) {
  const double scale = float32(std::exp(1.0) / 127);
  const std::map<std::string, Tensor> weights{{"c", reals({2}, {std::log(63.45 * scale), 1})}};
  const auto findings = [&](std::int64_t code, const std::string& outputs, const std::string& kept) {
    return bounds_of("g (float[2] x) => (" + outputs + ") { k = Exp(c) y = Mul(x, k) }", weights,
                     "a (float[2] x) => (" + outputs + ") { " + kept +
                         "xq = QuantizeLinear(x, xs, z) xd = DequantizeLinear(xq, xs, z)"
                         " kd = DequantizeLinear(kq, ks, z) y = Mul(xd, kd) }",
                     {{"xs", Tensor::scalar(DType::float32, float32(1.0 / 127))},
                      {"ks", Tensor::scalar(DType::float32, scale)},
                      {"z", codes(DType::int8, {}, {0})},
                      {"c", weights.at("c")},
                      {"kq", codes(DType::int8, {2}, {code, 127})}},
                     {{"x", reals({2}, {1, -1})}});
  };
  EXPECT_THAT(findings(63, "float[2] y", ""), IsEmpty());
  EXPECT_EQ(findings(62, "float[2] y", "").size(), 1U);
  // An output that is computed beside the constant that others read in its place.
  EXPECT_THAT(findings(63, "float[2] y, float[2] k", "k = Exp(c) "), IsEmpty());
  EXPECT_EQ(findings(62, "float[2] y, float[2] k", "k = Exp(c) ").size(), 1U);
}

TEST(Bounds, AConstantThatWasComputedInFloatHasFloat32sError) {
  const double a = float32(0.71), b = float32(0.0537), c = float32(0.7636);
  const std::string text = "(float[1] x) => (float[1] y, float[1] v) { ";
  const auto findings = [&](double off) {
    return bounds_of(
        "g " + text + "s = Add(a, b) v = Sub(c, s) y = Relu(x) }",
        {{"a", reals({1}, {a})}, {"b", reals({1}, {b})}, {"c", reals({1}, {c})}},
        "a " + text + "v = Sub(c, s) xq = QuantizeLinear(x, xs, z) xd = DequantizeLinear(xq, xs, z) y = Relu(xd) }",
        {{"s", reals({1}, {float32(a + b) + off})},
         {"c", reals({1}, {c})},
         {"xs", Tensor::scalar(DType::float32, float32(1.0 / 127))},
         {"z", codes(DType::int8, {}, {0})}},
        {{"x", reals({1}, {1})}});
  };
  ASSERT_NE(float32(a + b), a + b);
  EXPECT_THAT(findings(0), IsEmpty());
  EXPECT_EQ(findings(0x1p-20).size(), 1U);
}

TEST(Bounds, AnOutputThatIsAProductOfRoundedConstantsHasTheErrorOfEachRounding) {
  const double a = float32(0.7132), b = float32(0.0537);
  const double once = float32(a * b), twice = float32(once * once);
  const std::string text = "(float[1] x) => (float[1] y, float[1] v) { ";
  const auto findings = [&](double units) {
    Judged judged(
        parse("g " + text + "s = Mul(a, b) v = Mul(s, s) y = Relu(x) }",
              {{"a", reals({1}, {a})}, {"b", reals({1}, {b})}}),
        parse(
            "a " + text + "v = Mul(s, s) xq = QuantizeLinear(x, xs, z) xd = DequantizeLinear(xq, xs, z) y = Relu(xd) }",
            {{"s", reals({1}, {once})},
             {"xs", Tensor::scalar(DType::float32, float32(1.0 / 127))},
             {"z", codes(DType::int8, {}, {0})}}));
    const double off = a * b * a * b * (1 + units * 0x1p-24);
    judged.add("typical", {{"x", reals({1}, {1})}}, {{"y", reals({1}, {1})}, {"v", reals({1}, {off})}});
    judged.calibrate();
    return judged.bounds();
  };
  EXPECT_LT(std::fabs(twice / (a * b * a * b) - 1), 3 * 0x1p-24);
  // Two units in the constant, one in the product; two more where it is stored.
  EXPECT_THAT(findings(2.9), IsEmpty());
  EXPECT_THAT(findings(-2.9), IsEmpty());
  EXPECT_EQ(findings(5.2).size(), 1U);
}

TEST(Bounds, WhatIsRoundedForAnotherReaderBehindAReshapeStillMayBeReadAsItIs) {
  const double scale = float32(4.0 / 255), step = float32(std::exp(4.0) / 255);
  const auto findings = bounds_of(
      "g (float[1,1,2] x) => (float[1,1,2] y, float[1,1,2] s) { y = Exp(x) s = Softmax<axis=2>(x) }", {},
      "a (float[1,1,2] x) => (float[1,1,2] y, float[1,1,2] s) { e = Exp(x) yq = QuantizeLinear(e, ys, z)"
      " y = DequantizeLinear(yq, ys, z) f = Flatten(x) fq = QuantizeLinear(f, xs, z) fd = DequantizeLinear(fq, xs, z)"
      " g = Softmax<axis=1>(fd) s = Reshape(g, shape) }",
      {{"xs", Tensor::scalar(DType::float32, scale)},
       {"ys", Tensor::scalar(DType::float32, step)},
       {"z", codes(DType::uint8, {}, {0})},
       {"shape", codes(DType::int64, {3}, {1, 1, 2})}},
      {{"x", reals({1, 1, 2}, {-1.26, 4})}},
      [&](Judged& judged) {  // calibrated from 0 on
        judged.evidence.options.activation = DType::uint8;
        judged.ranges["x"].low = 0;
        judged.audited["x"] = {{scale}, {0}, DType::uint8, std::nullopt};
        judged.audited["y"] = {{step}, {0}, DType::uint8, std::nullopt};
      });
  EXPECT_THAT(findings, IsEmpty());
}

TEST(Bounds, ABiasIsOnItsOwnCodesAlsoWhereTheDataIsOnlyMovedFromWhatWasRounded) {
  const double weight = float32(0.7445422), bias = float32(-0.1509516);
  const double weight_scale = float32(weight / 127), out = float32(-bias / 127);
  const auto findings = [&](std::int64_t bias_code) {
    return bounds_of("g (float[1,1] x) => (float[1,1] y) { t = Identity(x) y = Gemm(t, w, b) }",
                     {{"w", reals({1, 1}, {weight})}, {"b", reals({1}, {bias})}},
                     "a (float[1,1] x) => (float[1,1] y) { xq = QuantizeLinear(x, xs, z)"
                     " xd = DequantizeLinear(xq, xs, z) f = Identity(xd) tq = QuantizeLinear(f, xs, z)"
                     " t = DequantizeLinear(tq, xs, z) wd = DequantizeLinear(wq, ws, z) bd = DequantizeLinear(bq, ws)"
                     " c = Gemm(t, wd, bd) yq = QuantizeLinear(c, ys, z) y = DequantizeLinear(yq, ys, z) }",
                     {{"xs", Tensor::scalar(DType::float32, 1)},  // never anything but 0
                      {"ws", Tensor::scalar(DType::float32, weight_scale)},
                      {"ys", Tensor::scalar(DType::float32, out)},
                      {"z", codes(DType::int8, {}, {0})},
                      {"wq", codes(DType::int8, {1, 1}, {127})},
                      {"bq", codes(DType::int32, {1}, {bias_code})}},
                     {{"x", reals({1, 1}, {0})}}, [&](Judged& judged) {
                       judged.evidence.options.symmetric = true;
                       judged.audited["y"] = {{out}, {0}, DType::int8, std::nullopt};
                     });
  };
  EXPECT_THAT(findings(-26), IsEmpty());  // -25.75
  EXPECT_EQ(findings(-25).size(), 1U);
}

/// Of enough distinct outputs.
std::optional<double> noise_of(Judged& judged) {
  const LayerContext layers = judged.context();
  Grounds grounds(layers);
  const std::optional<NoiseEvidence> evidence = weigh_noise(layers, grounds);
  if (!evidence || evidence->distinct < kDistinctOutputs) return std::nullopt;
  return evidence->ratio;
}

/// Of random weights.
ConvLayer layer_of_size(std::int64_t size, core::Rng& rng) {
  ConvLayer layer;
  layer.in = 3;
  layer.out = 4;
  layer.kernel = 3;
  layer.size = size;
  for (std::int64_t k = 0; k < layer.out * layer.products(); ++k) {
    layer.weights.push_back(float32(rng.normal()));
  }
  double largest = 0;
  for (const double w : layer.weights) {
    largest = std::max(largest, std::fabs(w));
  }
  layer.bias.assign(4, 0.25);
  layer.weight_scale = {float32(largest / 127)};
  layer.input_scale = float32(1.0 / 127);
  layer.output_scale = float32(12.0 / 127);
  for (const double w : layer.weights) {
    layer.weight_codes.push_back(static_cast<std::int64_t>(std::nearbyint(w / layer.weight_scale[0])));
  }
  for (const double b : layer.bias) {
    layer.bias_codes.push_back(
        static_cast<std::int64_t>(std::nearbyint(b / (layer.input_scale * layer.weight_scale[0]))));
  }
  return layer;
}

Tensor random_input(const ConvLayer& layer, core::Rng& rng) {
  std::vector<double> x(static_cast<std::size_t>(core::element_count(layer.input_shape())));
  for (double& value : x) value = float32(rng.uniform(-1, 1));
  return reals(layer.input_shape(), x);
}

TEST(NoiseRatio, TellsFloatFromQuantized) {
  core::Rng rng(5);
  const ConvLayer layer = layer_of_size(20, rng);
  const Tensor input = random_input(layer, rng);
  Judged quantized = judge_layer(layer, input, layer.run(layer.input_codes(input), nearest(layer)), true);
  quantized.evidence.options.per_axis = false;
  quantized.opaque = true;
  const auto ratio = noise_of(quantized);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_GT(*ratio, 0.5);

  Judged in_float = judge_layer(layer, input, layer.run(layer.input_codes(input), nearest(layer)), true);
  in_float.opaque = true;
  Tensor exact = in_float.reference[0]->find("y")->second;
  in_float.evidence.executions[0].outputs.at("y") = core::rounded_to_type(exact);
  const auto none = noise_of(in_float);
  ASSERT_TRUE(none.has_value());
  EXPECT_LT(*none, 1e-6);

  in_float.evidence.executions[0].data_set = "ties";
  EXPECT_FALSE(noise_of(in_float).has_value());  // only random data is evidence
}

/// Some dozen outputs of one input aren't enough independent draws, but nobody meets them all between the steps.
/// w·x with codes of 16 bits: on the left, a constant may have them too, and its noise is no evidence.
TEST(NoiseRatio, AConstantOnTheLeftMayBeDataOf16Bits) {
  core::Rng rng(73);
  const auto drawn = [&](const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
    for (double& value : values) value = float32(rng.uniform(-1, 1));
    return reals(shape, values);
  };
  const Tensor w = drawn({16, 16}), x = drawn({16, 16});
  for (const bool left : {true, false}) {
    const std::string text =
        std::string("(float[16,16] x) => (float[16,16] y) { y = MatMul") + (left ? "(w, x) }" : "(x, w) }");
    Judged judged(parse("g " + text, {{"w", w}}), parse("a " + text, {{"w", w}}));
    judged.opaque = true;
    judged.evidence.options.activation = DType::int16;
    judged.evidence.options.symmetric = true;
    const core::TensorMap inputs{{"x", x}};
    judged.add("typical", inputs, reference::execute(judged.original, inputs).value());
    judged.calibrate();
    const LayerContext context = judged.context();
    const QuantizationPlan plan(context);
    const auto noise = predict_noise(plan, inputs, Steps::finest);
    ASSERT_TRUE(noise);
    const double most = std::ranges::max(noise->variance.at("y"));
    EXPECT_EQ(most < 1e-7, left) << most;
    EXPECT_EQ(most > 1e-5, !left) << most;
  }
}

TEST(NoiseRatio, TellsAFloatNetworkByFewOutputs) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    core::Rng rng(seed);
    const ConvLayer layer = layer_of_size(5, rng);
    const Tensor input = random_input(layer, rng);
    Judged judged = judge_layer(layer, input, layer.run(layer.input_codes(input), nearest(layer)), true);
    judged.evidence.options.per_axis = false;
    judged.opaque = true;
    const auto is_float = [&] {
      const LayerContext layers = judged.context();
      Grounds grounds(layers);
      const std::optional<NoiseEvidence> evidence = weigh_noise(layers, grounds);
      EXPECT_TRUE(evidence && evidence->distinct < kDistinctOutputs);
      return evidence && evidence->ratio < float_noise_limit(layers, *evidence);
    };
    EXPECT_FALSE(is_float());
    judged.evidence.executions[0].outputs.at("y") = core::rounded_to_type(judged.reference[0]->find("y")->second);
    EXPECT_TRUE(is_float());
  }
}

/// Of a converter that reports its scales and leaves open whether graph outputs are quantized.
TEST(OutputGrid, IsTheReportedOneWhereValuesShowOne) {
  core::Rng rng(6);
  const ConvLayer layer = layer_of_size(20, rng);
  const Tensor input = random_input(layer, rng);
  Judged judged = judge_layer(layer, input, layer.run(layer.input_codes(input), nearest(layer)), true);
  judged.opaque = true;
  const auto facets = [&](double reported) {
    judged.evidence.conversion.tensors = {{"y", {{reported}, {0}, DType::int8, {}}}};
    std::vector<Facet> found;
    for (const Finding& finding : check_output_grid(judged.context())) found.push_back(finding.facet);
    return found;
  };
  EXPECT_THAT(facets(layer.output_scale), IsEmpty());
  EXPECT_THAT(facets(1.02 * layer.output_scale), ElementsAre(Facet::scale));
  EXPECT_THAT(facets(layer.output_scale / 2), IsEmpty()) << "every value lies on a grid of half the step";
  judged.evidence.executions[0].outputs.at("y") = core::rounded_to_type(judged.reference[0]->find("y")->second);
  EXPECT_THAT(facets(1.02 * layer.output_scale), IsEmpty()) << "left in float";
}

}  // namespace
}  // namespace assay::judge::testing
