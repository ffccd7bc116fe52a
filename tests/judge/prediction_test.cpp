#include "harness/judge/numerics/prediction.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "harness/judge/evidence/measured_limits.hpp"
#include "harness/judge/numerics/loss.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"
#include "harness/judge/quantization/noise_draws.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

ConvLayer::Requantize nearest_of_prediction(const ConvLayer& layer) {
  return [&layer](std::int64_t sum, std::int64_t j) {
    return std::nearbyint(static_cast<double>(sum) * layer.multiplier(j));
  };
}

Judged judge_layer(const ConvLayer& told, const ConvLayer& engine, const Tensor& x) {
  Judged judged(told.original(), told.artifact());
  judged.evidence.options.activation = told.activation;
  judged.evidence.options.per_axis = told.weight_scale.size() > 1;
  judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
  judged.evidence.converter.policy.folds_bn = true;
  judged.evidence.converter.policy.fusions = {"Conv+Relu", "Conv+Clip"};
  judged.evidence.converter.policy.shares = {"MaxPool", "Reshape"};
  judged.add("typical", {{"x", x}},
             {{"y", engine.dequantized(engine.run(engine.input_codes(x), nearest_of_prediction(engine)))}});
  judged.calibrate();
  return judged;
}

double metric(const Judgement& judgement, std::string_view name) {
  for (const Metric& m : judgement.metrics) {
    if (m.name == name) return m.value;
  }
  return std::nan("");
}

/// Per-axis layers whose channels are orders of magnitude apart.
RandomLayer spread_layer(core::Rng& rng) {
  for (;;) {
    ConvLayer shape;
    shape.batch = 2;
    shape.in = 4;
    shape.out = 4;
    shape.kernel = 2;
    shape.size = 17;
    RandomLayer random = random_layer(rng, true, shape);
    const auto& scale = random.layer.weight_scale;
    const auto [low, high] = std::minmax_element(scale.begin(), scale.end());
    if (scale.size() > 1 && *high > 8 * *low) return random;
  }
}

TEST(FakeQuantization, IsWhatACorrectEngineComputes) {
  constexpr int kLayers = 200;
  core::Rng rng(31);
  std::int64_t unlike = 0, elements = 0;
  for (int i = 0; i < kLayers; ++i) {
    const RandomLayer random = random_layer(rng);
    Judged judged = judge_layer(random.layer, random.layer, random.x);
    for (const bool opaque : {false, true}) {
      judged.opaque = opaque;
      const LayerContext context = judged.context();
      const QuantizationPlan plan(context);
      FakeQuantization fake(context, plan);
      EXPECT_EQ(fake.unmodelled(), "");
      ASSERT_TRUE(fake.run({{"x", random.x}}));
      const Tensor& actual = judged.evidence.executions[0].outputs.at("y");
      for (std::int64_t k = 0; k < actual.size(); ++k, ++elements) {
        const double difference = std::fabs(fake.value("y")->as_real(k) - actual.as_real(k));
        unlike += difference > random.layer.output_scale / 2 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(elements, 5000);
  EXPECT_LT(static_cast<double>(unlike), 1e-3 * static_cast<double>(elements)) << "only ties may fall the other way";
}

/// Of magnitude ÷ 128, the largest positive weights are cut off, and where a negative alpha is in them the largest
/// negative ones.
TEST(FakeQuantization, DoesNotKnowWhichWeightsAreCutOffUnderANegativeAlpha) {
  for (const auto& [alpha, divisor, known] :
       {std::tuple{-2.0, 128.0, false}, {-2.0, 127.0, true}, {2.0, 128.0, true}}) {
    const std::map<std::string, Tensor> weights{{"w", reals({3, 2}, {1, -1, 0.3, 0.2, -0.4, 0.7})}};
    const std::string text = fmt::format("(float[2,3] x) => (float[2,2] y) {{ y = Gemm<alpha={:.1f}>(x, w) }}", alpha);
    Judged judged(parse("g " + text, weights), parse("a " + text, weights));
    judged.opaque = true;
    judged.evidence.options.symmetric = true;
    auto& policy = judged.evidence.converter.policy;
    policy.divisor = divisor;
    policy.arithmetic = converters::EngineArithmetic::integer;
    policy.folds_bn = true;
    policy.fusions = policy.shares = std::vector<std::string>{};
    const core::TensorMap inputs{{"x", reals({2, 3}, {1, 2, 3, -1, 0.5, 0.7})}};
    judged.add("typical", inputs, reference::execute(judged.original, inputs).value());
    judged.calibrate();
    const LayerContext context = judged.context();
    const QuantizationPlan plan(context);
    const FakeQuantization fake(context, plan);
    EXPECT_EQ(fake.unmodelled().empty(), known) << fake.unmodelled();
  }
}

TEST(FakeQuantization, AMeanOfCodesThatIsATieGoesToTheEvenCode) {
  // Thirds of rows and halves of columns: each value is a sum of codes over 6.
  constexpr std::int64_t kHigh = 8, kWide = 7;
  const double scale = float32(0.0293);
  core::Rng rng(37);
  std::vector<std::int64_t> x(kHigh * kWide);
  std::vector<double> values;
  for (std::int64_t& code : x) {
    code = rng.integer(-128, 127);
    values.push_back(float32(static_cast<double>(code) * scale));
  }
  const std::string text = "(float[1,1,8,7] x) => (float[1,1,24,14] y) { ",
                    resize = R"( = Resize<coordinate_transformation_mode="asymmetric", mode="linear">)";
  const Tensor by = reals({4}, {1, 1, 3, 2});
  Judged judged(parse("g " + text + "y" + resize + "(x, , by) }", {{"by", by}}),
                parse("a " + text + "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) m" + resize +
                          "(xd, , by) yq = QuantizeLinear(m, s, z) y = DequantizeLinear(yq, s, z) }",
                      {{"by", by}, {"s", Tensor::scalar(DType::float32, scale)}, {"z", codes(DType::int8, {}, {0})}}));
  const core::TensorMap inputs{{"x", reals({1, 1, kHigh, kWide}, values)}};
  judged.add("typical", inputs, reference::execute(*judged.artifact, inputs).value());
  judged.calibrate();
  for (const char* tensor : {"x", "y"}) judged.audited[tensor] = {{scale}, {0}, DType::int8, std::nullopt};
  const LayerContext context = judged.context();
  const QuantizationPlan plan(context);
  FakeQuantization fake(context, plan);
  ASSERT_TRUE(fake.run(inputs));
  int ties = 0;
  for (std::int64_t row = 0; row < 3 * kHigh; ++row) {
    for (std::int64_t column = 0; column < 2 * kWide; ++column) {
      const std::int64_t thirds = row % 3, half = column % 2;
      const auto line = [&](std::int64_t i) {
        const auto at = [&](std::int64_t j) {
          return x[static_cast<std::size_t>(std::min(i, kHigh - 1) * kWide + std::min(j, kWide - 1))];
        };
        return (2 - half) * at(column / 2) + half * at(column / 2 + 1);
      };
      const std::int64_t sixths = (3 - thirds) * line(row / 3) + thirds * line(row / 3 + 1);
      ties += sixths % 6 == 3 || sixths % 6 == -3 ? 1 : 0;
      EXPECT_EQ(std::lround(fake.value("y")->as_real(row * 2 * kWide + column) / scale),
                std::lrint(static_cast<double>(sixths) / 6))
          << row << ", " << column;
    }
  }
  EXPECT_GT(ties, 10);
}

TEST(Prediction, RecordsTheDeviationOfCorrectLayersAndRaisesNoAlarm) {
  core::Rng rng(32);
  int recorded = 0;
  for (int i = 0; i < 200; ++i) {
    const RandomLayer random = random_layer(rng);
    Judged judged = judge_layer(random.layer, random.layer, random.x);
    for (const bool opaque : {false, true}) {
      judged.opaque = opaque;
      for (const Finding& finding : judged.prediction())
        ADD_FAILURE() << "layer " << i << " of seed 32: " << finding.message;
      recorded += std::isnan(metric(judged.judgement, "prediction_deviation_db")) ? 0 : 1;
    }
  }
  EXPECT_GT(recorded, 300);
}

TEST(Prediction, EveryDataSetIsHeldToIt) {
  core::Rng rng(61);
  const RandomLayer random = spread_layer(rng);
  Judged judged = judge_layer(random.layer, random.layer, random.x);
  const Tensor right = judged.evidence.executions[0].outputs.at("y");
  for (const bool opaque : {false, true}) {
    judged.opaque = opaque;
    judged.evidence.executions.resize(1);
    judged.add("inputs_1", {{"x", random.x}}, {{"y", right}});
    judged.calibrate();
    EXPECT_THAT(judged.prediction(), IsEmpty());
    judged.evidence.executions.back().outputs["y"] = Tensor::zeros(right.type(), right.shape());
    const std::vector<Finding> zeros = judged.prediction();
    ASSERT_THAT(zeros, ::testing::SizeIs(::testing::Ge(1U)));
    EXPECT_THAT(zeros[0].message, HasSubstr("data set \"inputs_1\""));
  }
}

TEST(Prediction, OutputsThatStayInFloatAreNotPredictedRounded) {
  core::Rng rng(67);
  const RandomLayer random = spread_layer(rng);
  Judged judged = judge_layer(random.layer, random.layer, random.x);
  judged.opaque = true;
  const auto deviation = [&](converters::GraphOutputs outputs) {
    judged.evidence.converter.policy.outputs = outputs;
    EXPECT_THAT(judged.prediction(), IsEmpty());
    return metric(judged.judgement, "prediction_deviation_db");
  };
  {
    const LayerContext context = judged.context();
    const QuantizationPlan plan(context);
    FakeQuantization fake(context, plan);
    ASSERT_TRUE(fake.run({{"x", random.x}}));
    judged.evidence.executions[0].outputs["y"] = *fake.carried("y");
  }
  EXPECT_NEAR(deviation(converters::GraphOutputs::stay_float), 0, 0.01);
  EXPECT_GT(deviation(converters::GraphOutputs::quantized), 0.3);
  EXPECT_GT(deviation(converters::GraphOutputs::either), 0.3);
}

TEST(Prediction, SeesAWrongWeightAxisInTheWorstChannel) {
  core::Rng rng(33);
  int seen = 0, seen_opaque = 0;
  constexpr int kLayers = 40;
  for (int i = 0; i < kLayers; ++i) {
    const RandomLayer random = spread_layer(rng);
    ConvLayer wrong = random.layer;  // one scale, the largest, for what should have one each
    const double largest = *std::max_element(wrong.weight_scale.begin(), wrong.weight_scale.end());
    wrong.weight_scale.assign(wrong.weight_scale.size(), largest);
    for (std::int64_t j = 0; j < wrong.out; ++j) {
      for (std::int64_t k = 0; k < wrong.products(); ++k) {
        const auto flat = static_cast<std::size_t>(j * wrong.products() + k);
        wrong.weight_codes[flat] = static_cast<std::int64_t>(std::nearbyint(wrong.weights[flat] / largest));
      }
      const auto channel = static_cast<std::size_t>(j);
      wrong.bias_codes[channel] =
          static_cast<std::int64_t>(std::nearbyint(wrong.bias[channel] / (wrong.input_scale * largest)));
    }
    Judged judged = judge_layer(wrong, wrong, random.x);
    const auto findings = judged.prediction();
    seen += findings.empty() ? 0 : 1;
    if (!findings.empty()) {
      EXPECT_THAT(findings[0].message, HasSubstr("the stated policy predicts"));
      EXPECT_EQ(findings[0].facet, Facet::numerics);
    }
    EXPECT_LT(metric(judged.judgement, "weight_deviation_db"), -10);
    judged.opaque = true;
    seen_opaque += judged.prediction().empty() ? 0 : 1;
  }
  std::printf("  a wrong weight axis in %d layers: seen in %d with the artifact, %d by outputs alone\n", kLayers, seen,
              seen_opaque);
  EXPECT_EQ(seen, kLayers);
  EXPECT_GT(seen_opaque, kLayers / 4);
}

// PP-OCRv6's recognizer has a channel of weights around 1e-38, whose scale no float32 of full precision holds.
TEST(Prediction, AChannelBelowFloat32sLeastScaleHasNoNoise) {
  core::Rng rng(34);
  for (const double factor : {1.0, 1e-38}) {
    RandomLayer random = spread_layer(rng);
    ConvLayer& layer = random.layer;
    const auto products = static_cast<std::size_t>(layer.products());
    for (std::size_t k = 0; k < products; ++k) {
      layer.weights[k] = float32(layer.weights[k] * factor);
      layer.weight_codes[k] = static_cast<std::int64_t>(k % 5) - 2;  // of another network
    }
    layer.weight_scale[0] = std::max(0x1p-126, layer.weight_scale[0] * factor);
    Judged judged = judge_layer(layer, layer, random.x);
    judged.prediction();
    const double deviation = metric(judged.judgement, "weight_deviation_db");
    EXPECT_EQ(deviation < -3, factor == 1) << deviation;
  }
}

TEST(Prediction, AnInputAtATieMayBeRoundedToEitherSide) {
  core::Rng rng(36);
  ConvLayer shape;
  shape.in = 2;
  shape.out = 300;
  shape.size = 2;
  const auto ends = [](const Tensor& tensor) {
    const auto [low, high] = std::ranges::minmax(tensor.reals());
    return std::pair(low, high);
  };
  int alarms = 0, shown = 0, layers = 0;
  while (layers < 100) {
    RandomLayer random = random_layer(rng, true, shape);
    const ConvLayer& layer = random.layer;
    const auto output = [&] { return reference::execute(layer.original(), {{"x", random.x}}).value().at("y"); };
    const auto range = std::pair(ends(random.x), ends(output()));
    const auto element = static_cast<std::size_t>(rng.integer(0, random.x.size() - 1));
    const double middle = std::trunc(random.x.reals()[element] / layer.input_scale / 2) + 0.5;
    random.x.reals()[element] = float32(middle * layer.input_scale);
    if (std::pair(ends(random.x), ends(output())) != range) continue;  // else other scales would be right
    ++layers;
    for (const double side : {-0.5, 0.5}) {
      auto codes = layer.input_codes(random.x);
      codes[element] = layer.clamp(middle + side + static_cast<double>(layer.input_zero));
      Judged judged = judge_layer(layer, layer, random.x);
      judged.evidence.executions[0].outputs["y"] = layer.dequantized(layer.run(codes, nearest_of_prediction(layer)));
      alarms += judged.prediction().empty() ? 0 : 1;
      shown += metric(judged.judgement, "prediction_deviation_db") < -kPredictionLossDb ? 1 : 0;
    }
  }
  EXPECT_EQ(alarms, 0);
  EXPECT_GT(shown, 3);
}

TEST(Prediction, AnInterpolationsTiesMayBeRoundedToEitherSide) {
  const double scale = float32(0.0293);
  const std::string text = "(float[1,2,16,14] x) => (float[1,2,48,28] y) { ",
                    resize = R"( = Resize<coordinate_transformation_mode="asymmetric", mode="linear">)",
                    read = "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) ";
  const Tensor by = reals({4}, {1, 1, 3, 2});
  const std::map<std::string, Tensor> constants{
      {"by", by}, {"s", Tensor::scalar(DType::float32, scale)}, {"z", codes(DType::int8, {}, {0})}};
  const model::Model original = parse("g " + text + "y" + resize + "(x, , by) }", {{"by", by}}),
                     unrounded = parse("u " + text + read + "y" + resize + "(xd, , by) }", constants);
  core::Rng rng(38);
  std::vector<double> values(448);
  for (double& value : values) value = float32(std::clamp(rng.normal(), -3.7, 3.7));
  const core::TensorMap inputs{{"x", reals({1, 2, 16, 14}, values)}};
  const Tensor wanted = reference::execute(original, inputs).value().at("y"),
               middle = reference::execute(unrounded, inputs).value().at("y");
  // Elements as far off a tie as `least` to `most` steps, on the worse side of it.
  const auto judged_with = [&](double least, double most) {
    Tensor output = middle;
    for (std::size_t i = 0; i < output.reals().size(); ++i) {
      const double steps = middle.reals()[i] / scale, off = std::fabs(steps - std::floor(steps) - 0.5);
      const double below = std::floor(steps) * scale, above = below + scale, want = wanted.reals()[i];
      const bool worse = off >= least && off <= most;
      const bool up = worse ? std::fabs(above - want) > std::fabs(below - want) : steps - std::floor(steps) > 0.5;
      output.reals()[i] = up ? above : below;
    }
    Judged judged(original, parse("a " + text + read + "m" + resize +
                                      "(xd, , by) yq = QuantizeLinear(m, s, z) y = DequantizeLinear(yq, s, z) }",
                                  constants));
    judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
    judged.add("typical", inputs, {{"y", output}});
    judged.calibrate();
    for (const char* tensor : {"x", "y"}) judged.audited[tensor] = {{scale}, {0}, DType::int8, std::nullopt};
    return judged;
  };
  Judged ties = judged_with(0, 1e-6), others = judged_with(1e-3, 0.2);
  EXPECT_THAT(ties.prediction(), IsEmpty());
  EXPECT_LT(metric(ties.judgement, "prediction_deviation_db"), -kPredictionLossDb);
  EXPECT_FALSE(others.prediction().empty());
}

/// Columns doubled by interpolation, so that means of two codes are ties, and what comes of them enlarged: the side of
/// each tie goes into many outputs.
struct TiesInside {
  static constexpr std::size_t kRows = 4, kColumns = 3;
  explicit TiesInside(std::string nodes_beside = "") : beside(std::move(nodes_beside)) {}

  const std::string beside;
  const double scale = float32(0.0293);
  const std::map<std::string, Tensor> factors{{"wider", reals({4}, {1, 1, 1, 2})},
                                              {"larger", reals({4}, {1, 1, 8, 10})},
                                              {"many", codes(DType::int64, {4}, {1 << 19, 1, 4, 3})}};
  const std::string from_x = "(float[1,1,4,3] x) => (float[1,1,32,60] y) { " + beside;
  const std::string outer = resized("n", "t", "larger") + rounded("y", "n") + "}";
  const model::Model original =
      parse("g " + from_x + resized("t", "x", "wider") + resized("y", "t", "larger") + "}", factors);
  const model::Model artifact =
      parse("a " + from_x + rounded("xd", "x") + resized("m", "xd", "wider") + rounded("t", "m") + outer, constants());
  const model::Model behind = parse("b (float[1,1,4,6] t) => (float[1,1,32,60] y) { " + outer, constants());

  static std::string resized(const std::string& to, const std::string& from, const std::string& by) {
    return to + R"( = Resize<coordinate_transformation_mode="asymmetric", mode="linear">()" + from + ", , " + by + ") ";
  }
  static std::string rounded(const std::string& to, const std::string& from) {
    return to + "q = QuantizeLinear(" + from + ", s, z) " + to + " = DequantizeLinear(" + to + "q, s, z) ";
  }
  [[nodiscard]] std::map<std::string, Tensor> constants() const {
    std::map<std::string, Tensor> all = factors;
    all.emplace("s", Tensor::scalar(DType::float32, scale));
    all.emplace("z", codes(DType::int8, {}, {0}));
    return all;
  }
  /// t before its rounding, in steps: a row's last column is repeated.
  [[nodiscard]] std::vector<double> steps_of(const std::vector<double>& x) const {
    std::vector<double> steps(2 * x.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::size_t row = i / (2 * kColumns), column = i % (2 * kColumns), left = row * kColumns + column / 2;
      const std::size_t right = column % 2 == 1 && column / 2 + 1 < kColumns ? left + 1 : left;
      steps[i] = (std::nearbyint(x[left] / scale) + std::nearbyint(x[right] / scale)) / 2;
    }
    return steps;
  }
  /// What comes of `t`, in steps.
  [[nodiscard]] Tensor output(std::vector<double> t) const {
    for (double& each : t) each *= scale;
    return reference::execute(behind, {{"t", reals({1, 1, 4, 6}, std::move(t))}}).value().at("y");
  }
  [[nodiscard]] Judged judged(const std::vector<double>& x, const Tensor& y) const {
    Judged judged(original, artifact);
    judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
    judged.add("typical", {{"x", reals({1, 1, 4, 3}, x)}}, {{"y", y}});
    judged.calibrate();
    for (const char* tensor : {"x", "t", "y"}) judged.audited[tensor] = {{scale}, {0}, DType::int8, std::nullopt};
    return judged;
  }
};

bool is_tie(double steps) { return steps != std::floor(steps); }

TEST(Prediction, TiesInsideMayBeRoundedToEitherSide) {
  const TiesInside net;
  core::Rng rng(39);
  int alarms = 0, lost = 0, seen = 0;
  constexpr int kRounds = 30, kWays = 4;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> values(12);
    for (double& value : values) value = float32(net.scale * rng.uniform(-20, 20));
    const auto alarmed = [&](const auto& code_of) {
      std::vector<double> t = net.steps_of(values);
      for (double& at : t) at = code_of(at);
      Judged judged = net.judged(values, net.output(std::move(t)));
      const bool red = !judged.prediction().empty();
      EXPECT_EQ(metric(judged.judgement, "prediction_gates"), 1);
      lost += metric(judged.judgement, "prediction_deviation_db") < -kPredictionLossDb ? 1 : 0;
      return red;
    };
    const auto either = [&](double at) { return rng.integer(0, 1) == 0 ? std::floor(at) : std::ceil(at); };
    for (int way = 0; way < kWays; ++way) alarms += alarmed(either) ? 1 : 0;
    const int before = lost;
    seen += alarmed([&](double at) { return is_tie(at) ? either(at) : at + std::copysign(1, at); }) ? 1 : 0;
    lost = before;
  }
  std::printf("  ties cost more than the limit in %d of %d\n", lost, kRounds * kWays);
  EXPECT_EQ(alarms, 0);
  EXPECT_GT(lost, kRounds);
  EXPECT_EQ(seen, kRounds);
}

// Of a large network one draw has to do: what it moves, an engine's own sides may move as far.
TEST(Prediction, TiesInsideALargeNetworkMayBeRoundedToEitherSide) {
  const TiesInside net("big = Expand(x, many) ");
  core::Rng rng(40);
  int lost = 0;
  for (int round = 0; round < 6; ++round) {
    std::vector<double> values(12);
    for (double& value : values) value = float32(net.scale * rng.uniform(-20, 20));
    std::vector<double> t = net.steps_of(values);
    for (double& at : t) at = rng.integer(0, 1) == 0 ? std::floor(at) : std::ceil(at);
    Judged judged = net.judged(values, net.output(t));
    EXPECT_THAT(judged.prediction(), IsEmpty());
    lost += metric(judged.judgement, "prediction_deviation_db") < -kPredictionLossDb ? 1 : 0;
    for (double& at : t) at = -at;
    EXPECT_FALSE(net.judged(values, net.output(std::move(t))).prediction().empty());
  }
  EXPECT_GT(lost, 1);
}

TEST(Prediction, TiesExcuseNoMoreNoiseThanTheyMake) {
  const TiesInside net;
  core::Rng rng(42);
  int excused = 0, seen = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<double> values(12);  // all but a few columns in even codes, so that every choice of sides can be tried
    for (double& value : values)
      value = float32(net.scale * (2 * static_cast<double>(rng.integer(-12, 12)) + rng.uniform(-0.4, 0.4)));
    for (const std::size_t odd : {0U, 3U, 6U}) values[odd] = float32(values[odd] + net.scale);
    const std::vector<double> steps = net.steps_of(values);
    const Tensor wanted = reference::execute(net.original, {{"x", reals({1, 1, 4, 3}, values)}}).value().at("y");
    const auto noise_of = [&](const Tensor& y) { return noise_power(wanted, y); };
    std::vector<std::size_t> ties;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (is_tie(steps[i])) ties.push_back(i);
    }
    ASSERT_GE(ties.size(), 3U);
    double most = 0;  // that any choice of sides makes, those of the output's own ties included
    for (std::size_t choice = 0; choice < std::size_t{1} << ties.size(); ++choice) {
      std::vector<double> t = steps;
      for (std::size_t k = 0; k < ties.size(); ++k)
        t[ties[k]] = std::floor(t[ties[k]]) + static_cast<double>(choice >> k & 1U);
      std::vector<double> exact = t;
      for (double& each : exact) each *= net.scale;
      const Tensor middle = reference::execute(parse("u (float[1,1,4,6] t) => (float[1,1,32,60] y) { " +
                                                         TiesInside::resized("y", "t", "larger") + "}",
                                                     net.factors),
                                               {{"t", reals({1, 1, 4, 6}, exact)}})
                                .value()
                                .at("y");
      double noise = 0;
      for (std::int64_t i = 0; i < middle.size(); ++i) {
        const double at = middle.as_real(i) / net.scale, want = wanted.as_real(i) / net.scale;
        const bool tie = std::fabs(at - std::floor(at) - 0.5) < 1e-5;
        const double near = std::nearbyint(at) - want;
        const double worse = std::max(std::fabs(std::floor(at) - want), std::fabs(std::ceil(at) - want));
        noise += tie ? worse * worse : near * near;
      }
      most = std::max(most, noise * net.scale * net.scale);
    }
    const auto red = [&](const Tensor& y) {
      const bool alarmed = !net.judged(values, y).prediction().empty();
      const double limit = most * std::pow(10, kPredictionLossDb / 10) * (1 + 1e-4);
      if (noise_of(y) > limit) {
        EXPECT_TRUE(alarmed) << noise_of(y) / limit << " of what ties make, round " << round;
        ++seen;
      }
      excused += alarmed ? 0 : 1;
    };
    const auto nearest = [&](double steps_off, std::size_t elements) {
      std::vector<double> t = steps;
      for (double& each : t) each = std::nearbyint(each);
      for (std::size_t k = 0; k < elements; ++k) {
        t[static_cast<std::size_t>(rng.integer(0, 23))] += rng.integer(0, 1) == 0 ? -steps_off : steps_off;
      }
      return net.output(std::move(t));
    };
    for (std::size_t elements = 0; elements < 6; ++elements) red(nearest(1, elements));
    for (const double factor : {-1.0, 0.0, 1.25, 1.03, 0.97}) {
      Tensor y = nearest(0, 0);
      for (double& each : y.reals()) each = std::nearbyint(each * factor / net.scale) * net.scale;
      red(y);
    }
  }
  EXPECT_GE(excused, 12) << "each round begins with what is right";
  EXPECT_GE(seen, 12 * 5);
}

TEST(Prediction, AScalesLastPlaceMayShiftWhatIsNearlyExact) {
  const double step = float32(1.0 / 255);
  const model::Model original = parse("g (float[1,2000] x) => (float[1,2000] y) { y = Sigmoid(x) }", {});
  core::Rng rng(40);
  std::vector<double> values(2000);
  for (double& value : values) value = float32(rng.uniform(12.8, 13.4));
  const auto deviation = [&](double one) {
    Judged judged(original,
                  parse("a (float[1,2000] x) => (float[1,2000] y) { m = Sigmoid(x) yq = QuantizeLinear(m, s, z)"
                        " y = DequantizeLinear(yq, s, z) }",
                        {{"s", Tensor::scalar(DType::float32, step)}, {"z", codes(DType::int8, {}, {-128})}}));
    judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
    judged.add("typical", {{"x", reals({1, 2000}, values)}}, {{"y", reals({1, 2000}, std::vector<double>(2000, one))}});
    judged.calibrate();
    judged.audited["y"] = {{step}, {-128}, DType::int8, std::nullopt};
    return std::pair(judged.prediction().empty(), metric(judged.judgement, "prediction_deviation_db"));
  };
  const auto [passes, db] = deviation(1 + 0x1p-23);
  EXPECT_TRUE(passes) << db;
  EXPECT_FALSE(deviation(1 + 0x1p-18).first);
}

TEST(Prediction, AnOutputBehindAReshapeOfTheConvertersOwnIsRoundedToo) {
  const double in = float32(2.0 / 127), out = float32(1.0 / 255);
  const std::string signature = "(float[3,40,50] x) => (float[3,40,50] y) { ";
  const model::Model original = parse("g " + signature + "y = Sigmoid(x) }", {});
  model::Model artifact = parse(
      "a " + signature + "xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz) f = Flatten(xd)" +
          " s = Sigmoid(f) sq = QuantizeLinear(s, ys, yz) sd = DequantizeLinear(sq, ys, yz) y = Reshape(sd, shape) }",
      {{"xs", Tensor::scalar(DType::float32, in)},
       {"xz", codes(DType::int8, {}, {0})},
       {"ys", Tensor::scalar(DType::float32, out)},
       {"yz", codes(DType::int8, {}, {-128})},
       {"shape", codes(DType::int64, {3}, {3, 40, 50})}});
  std::ranges::find(artifact.graph.nodes, "Sigmoid", &model::Node::op_type)->name = original.graph.nodes[0].name;
  core::Rng rng(41);
  std::vector<double> values(6000);
  for (double& value : values) value = float32(rng.uniform(-2, 2));
  const core::TensorMap inputs{{"x", reals({3, 40, 50}, values)}};
  Judged judged(original, artifact);
  judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
  judged.add("typical", inputs, reference::execute(artifact, inputs).value());
  judged.calibrate();
  judged.audited["x"] = {{in}, {0}, DType::int8, std::nullopt};
  judged.audited["y"] = {{out}, {-128}, DType::int8, std::nullopt};
  EXPECT_THAT(judged.prediction(), IsEmpty());
  EXPECT_EQ(metric(judged.judgement, "prediction_gates"), 1);
  EXPECT_NEAR(metric(judged.judgement, "prediction_deviation_db"), 0, 0.01);
}

TEST(Prediction, TensorsInBetweenAreHeldAgainstItToo) {
  core::Rng rng(35);
  ConvLayer shape;
  shape.batch = 2;
  shape.in = shape.out = 4;
  shape.kernel = 2;
  shape.size = 17;
  shape.relu = true;
  RandomLayer random = random_layer(rng, true, shape);
  random.layer.relu = true;
  const auto inner_deviation = [&](const ConvLayer& layer) {
    Judged judged = judge_layer(layer, layer, random.x);
    judged.prediction();
    for (const Metric& m : measure_losses(judged.context(), judged.judgement.metrics)) {
      if (m.tensor == "c" && m.name == "inner_deviation_db") return m.value;
    }
    return std::nan("");
  };
  EXPECT_NEAR(inner_deviation(random.layer), 0, 0.01);
  ConvLayer wrong = random.layer;
  for (std::int64_t& code : wrong.weight_codes) code = code / 16 * 16;
  EXPECT_LT(inner_deviation(wrong), -3);
}

TEST(Prediction, GatesByDrawsWhatThePolicyLeavesOpen) {
  core::Rng rng(34);
  const RandomLayer random = spread_layer(rng);
  ConvLayer wrong = random.layer;
  for (std::int64_t& code : wrong.weight_codes) code = code / 16 * 16;
  const auto judge_with = [&](const std::function<void(Judged&)>& change) {
    Judged judged = judge_layer(wrong, wrong, random.x);
    judged.opaque = true;
    change(judged);
    const bool alarmed = !judged.prediction().empty();
    EXPECT_FALSE(std::isnan(metric(judged.judgement, "prediction_deviation_db")));
    return alarmed;
  };
  EXPECT_TRUE(judge_with([](Judged&) {}));
  EXPECT_TRUE(judge_with([](Judged& j) { j.evidence.converter.policy.fusions.reset(); }));
  EXPECT_TRUE(
      judge_with([](Judged& j) { j.evidence.converter.policy.arithmetic = converters::EngineArithmetic::unknown; }));
  EXPECT_FALSE(judge_with([](Judged& j) { j.evidence.converter.policy.weights = converters::WeightRounding::adapted; }))
      << "unjudged";
  EXPECT_FALSE(judge_with([](Judged& j) { j.evidence.options.method = converters::Method::entropy; }));
  EXPECT_TRUE(judge_with([](Judged& j) { j.evidence.options.precision["Conv"] = "int8?"; }));
}

}  // namespace
}  // namespace assay::judge::testing
