#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;

/// 1x1 convolution of one channel: y = (3·x + 4) with s_x = 0.5, s_w = 0.25, s_y = 1: M = 1/8.
/// Accumulators are 3·q + 4.
ConvLayer hand_layer() {
  ConvLayer layer;
  layer.size = 2;
  layer.weights = {0.75};
  layer.bias = {0.5};
  layer.input_scale = 0.5;
  layer.weight_scale = {0.25};
  layer.weight_codes = {3};
  layer.bias_codes = {4};
  layer.output_scale = 1;
  return layer;
}

// Codes 0, 4, 8, -5: accumulators 4, 16, 28, -11; times 1/8: 0.5, 2, 3.5, -1.375. Two ties.
const std::vector<double> kHandInputs{0, 2, 4, -2.5};

std::vector<Finding> judge_codes(const ConvLayer& layer, const Tensor& x, const std::vector<std::int64_t>& y,
                                 Judgement* judgement = nullptr) {
  Judged judged(layer.original(), layer.artifact());
  judged.add("typical", {{"x", x}}, {{"y", layer.dequantized(y)}});
  auto findings = judged.integers();
  if (judgement != nullptr) {
    *judgement = judged.judgement;
  }
  return findings;
}

TEST(IntegerCheck, AcceptsHandWorkedCodes) {
  const ConvLayer layer = hand_layer();
  Judgement judgement;
  EXPECT_THAT(judge_codes(layer, reals({1, 1, 2, 2}, kHandInputs), {0, 2, 4, -1}, &judgement), ::testing::IsEmpty());
  EXPECT_EQ(judgement.style, StyleName::half_even);
  EXPECT_THAT(judgement.layers, ::testing::ElementsAre("L1"));
}

TEST(IntegerCheck, AcceptsBothNeighboursOfATie) {
  const ConvLayer layer = hand_layer();
  Judgement judgement;
  EXPECT_THAT(judge_codes(layer, reals({1, 1, 2, 2}, kHandInputs), {1, 2, 4, -1}, &judgement), ::testing::IsEmpty());
  EXPECT_EQ(judgement.style, StyleName::half_away);
  EXPECT_THAT(judge_codes(layer, reals({1, 1, 2, 2}, kHandInputs), {0, 2, 3, -1}), ::testing::IsEmpty());
}

TEST(IntegerCheck, RejectsOneStepWhereThereIsNoTie) {
  const ConvLayer layer = hand_layer();
  const auto findings = judge_codes(layer, reals({1, 1, 2, 2}, kHandInputs), {0, 3, 4, -1});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::integers);
  EXPECT_EQ(findings[0].layer, "L1");
  EXPECT_EQ(findings[0].node, "c");
  EXPECT_EQ(findings[0].margin, 1);
  EXPECT_THAT(findings[0].message, HasSubstr("y[0,0,0,1]: expected 2, actual 3"));
  EXPECT_THAT(findings[0].message, HasSubstr("1 of 4 elements differ, largest difference in steps: 1"));
}

TEST(IntegerCheck, RejectsValuesBetweenTwoCodes) {
  const ConvLayer layer = hand_layer();
  Judged judged(layer.original(), layer.artifact());
  judged.add("typical", {{"x", reals({1, 1, 2, 2}, kHandInputs)}}, {{"y", reals({1, 1, 2, 2}, {0.5, 2, 4, -1})}});
  EXPECT_EQ(judged.integers().size(), 1U);  // 0 and 1 are admissible on the tie, half a step is not
}

TEST(IntegerCheck, AnAffineLevelMayLieBesideItsCode) {
  const ConvLayer layer = hand_layer();
  const auto findings = [&](double off, converters::DequantizeForm dequantize) {
    Judged judged(layer.original(), layer.artifact());
    judged.evidence.converter.policy.dequantize = dequantize;
    judged.add("typical", {{"x", reals({1, 1, 2, 2}, kHandInputs)}},
               {{"y", reals({1, 1, 2, 2}, {off, 2, 4 - off, -1})}});
    return judged.integers().size();
  };
  EXPECT_EQ(findings(6e-5, converters::DequantizeForm::affine), 0U);  // 4·2⁻²⁴ of 255 steps are 6.08e-5
  EXPECT_EQ(findings(7e-5, converters::DequantizeForm::affine), 1U);
  EXPECT_EQ(findings(6e-5, converters::DequantizeForm::product), 1U);
}

TEST(IntegerCheck, ReportsNotANumber) {
  const ConvLayer layer = hand_layer();
  Judged judged(layer.original(), layer.artifact());
  judged.add("typical", {{"x", reals({1, 1, 2, 2}, kHandInputs)}}, {{"y", reals({1, 1, 2, 2}, {0, NAN, 4, -1})}});
  const auto findings = judged.integers();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::nan);
}

TEST(IntegerCheck, OneStyleMustExplainEveryElement) {
  ConvLayer layer = hand_layer();
  layer.input_zero = 3;
  layer.output_zero = 5;
  const Tensor x = reals({1, 1, 2, 2}, kHandInputs);
  Judgement judgement;
  // 0.5 -> 1 and 3.5 -> 3: no rule of one integer engine, but float32 execution admits either side of a tie.
  EXPECT_THAT(judge_codes(layer, x, {6, 7, 8, 4}, &judgement), ::testing::IsEmpty());
  EXPECT_EQ(judgement.style, StyleName::half_even_after_zero_point);
}

TEST(IntegerCheck, CatchesRawZeroAsPadding) {
  ConvLayer layer = hand_layer();
  layer.kernel = 3;
  layer.pad = 1;
  layer.weight_codes = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  layer.weights = std::vector<double>(9, 0.25);
  layer.input_zero = -20;
  layer.output_scale = 2;
  const Tensor x = reals({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto right = [&](std::int64_t sum, std::int64_t j) {
    return std::nearbyint(static_cast<double>(sum) * layer.multiplier(j));
  };
  EXPECT_THAT(judge_codes(layer, x, layer.run(layer.input_codes(x), right)), ::testing::IsEmpty());
  EXPECT_EQ(judge_codes(layer, x, layer.run(layer.input_codes(x), right, 20)).size(), 1U);
}

TEST(IntegerCheck, ReluCutsAtTheZeroPoint) {
  ConvLayer layer = hand_layer();
  layer.relu = true;
  layer.output_zero = 10;
  const Tensor x = reals({1, 1, 2, 2}, kHandInputs);
  EXPECT_THAT(judge_codes(layer, x, {10, 12, 14, 10}), ::testing::IsEmpty());
  EXPECT_EQ(judge_codes(layer, x, {10, 12, 14, 9}).size(), 1U);
}

TEST(IntegerCheck, NamesTheFirstWrongNodeFromATrace) {
  const std::string text =
      "g (float[1,4] x) => (float[1,4] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " a = Relu(xd) aq = QuantizeLinear(a, s, z) ad = DequantizeLinear(aq, s, z)"
      " b = Relu(ad) bq = QuantizeLinear(b, s, z) y = DequantizeLinear(bq, s, z) }";
  const std::map<std::string, Tensor> parameters{{"s", Tensor::scalar(DType::float32, 0.5)},
                                                 {"z", codes(DType::int8, {}, {0})}};
  Judged judged(parse("g (float[1,4] x) => (float[1,4] y) { a = Relu(x) y = Relu(a) }", {}), parse(text, parameters));
  const Shape shape{1, 4};
  judged.add("typical", {{"x", reals(shape, {1, -1, 2, 3})}}, {{"y", reals(shape, {1, 0, 2.5, 3})}},
             {{"xq", codes(DType::int8, shape, {2, -2, 4, 6})},
              {"aq", codes(DType::int8, shape, {2, 0, 5, 6})},
              {"bq", codes(DType::int8, shape, {2, 0, 5, 6})}});
  const auto findings = judged.integers();
  ASSERT_EQ(findings.size(), 1U);  // everything after it follows from its actual codes
  EXPECT_EQ(findings[0].node, "a");
  EXPECT_THAT(findings[0].message, HasSubstr("aq[0,2]: expected 4, actual 5"));
  EXPECT_THAT(findings[0].message, HasSubstr("first wrong node"));
}

/// Relu after Relu with one scale 0.5: codes only move. Outputs and trace are given, the latter when asked for.
struct Chain {
  Chain()
      : judged(parse("g (float[1,4] x) => (float[1,4] y) { a = Relu(x) y = Relu(a) }", {}),
               parse("g (float[1,4] x) => (float[1,4] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
                     " a = Relu(xd) aq = QuantizeLinear(a, s, z) ad = DequantizeLinear(aq, s, z)"
                     " b = Relu(ad) bq = QuantizeLinear(b, s, z) y = DequantizeLinear(bq, s, z) }",
                     {{"s", Tensor::scalar(DType::float32, 0.5)}, {"z", codes(DType::int8, {}, {0})}})) {}

  std::vector<Finding> judge(std::vector<double> y, const std::map<std::string, std::vector<std::int64_t>>& trace) {
    judged.add("typical", {{"x", reals({1, 4}, {1, -1, 2, 3})}}, {{"y", reals({1, 4}, std::move(y))}});
    judged.evidence.ask_trace = [this, trace](const Execution&) -> core::Result<core::TensorMap> {
      ++asked;
      core::TensorMap tensors;
      for (const auto& [name, values] : trace) {
        tensors.emplace(name, codes(DType::int8, {1, static_cast<std::int64_t>(values.size())}, values));
      }
      return tensors;
    };
    return judged.integers();
  }

  Judged judged;
  int asked = 0;
};

TEST(IntegerCheck, AsksForNoTraceWhereTheOutputsSettleIt) {
  Chain chain;
  EXPECT_THAT(chain.judge({1, 0, 2, 3}, {}), ::testing::IsEmpty());
  EXPECT_EQ(chain.asked, 0);
}

TEST(IntegerCheck, NamesTheFirstWrongNodeOnceItHasTheTrace) {
  Chain chain;
  const auto findings =
      chain.judge({1, 0, 2.5, 3}, {{"xq", {2, -2, 4, 6}}, {"aq", {2, 0, 5, 6}}, {"bq", {2, 0, 5, 6}}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].node, "a");
  EXPECT_THAT(findings[0].message, HasSubstr("aq[0,2]: expected 4, actual 5"));
  EXPECT_EQ(chain.asked, 1);
  EXPECT_FALSE(chain.judged.evidence.executions[0].trace.empty());  // left for the other layers
}

TEST(IntegerCheck, SaysWithoutATraceThatAnEarlierNodeMayBeWrong) {
  Chain chain;
  const auto findings = chain.judge({1, 0, 2.5, 3}, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].node, "b");
  EXPECT_THAT(findings[0].message, HasSubstr("may be the consequence of a node before it"));
}

TEST(IntegerCheck, AnOutputThatIsNotItsOwnCodesContradictsTheTrace) {
  Chain chain;
  const auto findings =
      chain.judge({1, 0, 2.5, 3}, {{"xq", {2, -2, 4, 6}}, {"aq", {2, 0, 4, 6}}, {"bq", {2, 0, 4, 6}}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].tensor, "y");
  EXPECT_THAT(findings[0].message, HasSubstr("the trace contradicts this output"));
}

TEST(IntegerCheck, ATraceOfAnotherShapeIsAFinding) {
  Chain chain;
  const auto findings = chain.judge({1, 0, 2.5, 3}, {{"xq", {2, -2, 4, 6}}, {"aq", {2, 0, 4}}});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].message, HasSubstr("the trace holds another tensor: expected int8 [1,4], actual int8 [1,3]"));
}

// Code 1 of step 0.5 is half a step of the output: away from zero it becomes 1, which the outputs settle by themselves.
TEST(IntegerCheck, AWrongTraceOfRightOutputsIsItsOwnFailure) {
  Judged judged(
      parse("g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }", {}),
      parse("g (float[1,4] x) => (float[1,4] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
            " a = Relu(xd) aq = QuantizeLinear(a, one, z) y = DequantizeLinear(aq, one, z) }",
            {{"s", Tensor::scalar(DType::float32, 0.5)},
             {"one", Tensor::scalar(DType::float32, 1)},
             {"z", codes(DType::int8, {}, {0})}}));
  judged.add("typical", {{"x", reals({1, 4}, {0.5, -1, 2, 3})}}, {{"y", reals({1, 4}, {1, 0, 2, 3})}});
  std::vector<std::int64_t> x_codes{1, -2, 4, 6};
  judged.evidence.ask_trace = [&x_codes](const Execution&) -> core::Result<core::TensorMap> {
    return core::TensorMap{{"xq", codes(DType::int8, {1, 4}, x_codes)},
                           {"aq", codes(DType::int8, {1, 4}, {1, 0, 2, 3})}};
  };
  EXPECT_THAT(judged.integers(), ::testing::IsEmpty());
  EXPECT_EQ(judged.judgement.style, StyleName::half_away);

  judged.evidence.executions[0].trace.clear();
  x_codes[1] = -3;
  const auto findings = judged.integers();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].message, HasSubstr("the trace contradicts the outputs: style \"half_away\""));
  EXPECT_THAT(findings[0].message, HasSubstr("xq[0,1]: expected -2, actual -3"));
}

TEST(IntegerCheck, AnExecutionThatDoesNotRepeatItselfIsAFinding) {
  Chain chain;
  chain.judged.add("typical", {{"x", reals({1, 4}, {1, -1, 2, 3})}}, {{"y", reals({1, 4}, {1, 0, 2.5, 3})}});
  chain.judged.evidence.ask_trace = [](const Execution&) -> core::Result<core::TensorMap> {
    return core::Error{core::ErrorKind::invalid_data, "it gave another output", {}, {}, {}};
  };
  const auto findings = chain.judged.integers();
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].facet, Facet::integers);
  EXPECT_EQ(findings[1].facet, Facet::determinism);
  EXPECT_EQ(findings[1].message, "it gave another output");
}

/// 1x1 Gemm left in float: y = 3·0.25·(q·0.5) + 4·0.125, reported in INT8.
std::vector<Finding> judge_left_in_float(const std::vector<double>& y, const std::string& got, Judgement& judgement) {
  const std::map<std::string, Tensor> parameters{
      {"xs", Tensor::scalar(DType::float32, 0.5)},  {"xz", codes(DType::int8, {}, {0})},
      {"ws", Tensor::scalar(DType::float32, 0.25)}, {"wz", codes(DType::int8, {}, {0})},
      {"wq", codes(DType::int8, {1, 1}, {3})},      {"bq", codes(DType::int32, {1}, {4})},
      {"bs", Tensor::scalar(DType::float32, 0.125)}};
  Judged judged(parse("g (float[2,1] x) => (float[2,1] y) { y = Gemm(x, w, b) }",
                      {{"w", reals({1, 1}, {0.75})}, {"b", reals({1}, {0.5})}}),
                parse("g (float[2,1] x) => (float[2,1] y) { xq = QuantizeLinear(x, xs, xz)"
                      " xd = DequantizeLinear(xq, xs, xz) wd = DequantizeLinear(wq, ws, wz)"
                      " bd = DequantizeLinear(bq, bs) y = Gemm(xd, wd, bd) }",
                      parameters));
  judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
  judged.evidence.conversion.precision = {{"y", "Gemm", got}};
  judged.add("typical", {{"x", reals({2, 1}, {1, -2})}}, {{"y", reals({2, 1}, y)}});
  auto findings = judged.integers();
  judgement = judged.judgement;
  return findings;
}

// Accumulators 3·2 + 4 = 10 and 3·(-4) + 4 = -8, times 0.125.
TEST(IntegerCheck, HoldsASumLeftInFloatToItsAccumulator) {
  Judgement judgement;
  EXPECT_THAT(judge_left_in_float({1.25, -1}, "int8", judgement), ::testing::IsEmpty());
  EXPECT_THAT(judgement.layers, ::testing::ElementsAre("L1"));
  EXPECT_THAT(judge_left_in_float({1.25 + 0x1p-22, -1}, "int8", judgement), ::testing::IsEmpty());  // two roundings
  EXPECT_EQ(judge_left_in_float({1.25 + 0x1p-19, -1}, "int8", judgement).size(), 1U);
  EXPECT_EQ(judge_left_in_float({1.375, -1}, "int8", judgement).size(), 1U);  // another accumulator
}

/// A residual block with everything that moves, sums, cuts and tabulates codes; s1 … s5 are unlike scales.
model::Model block(bool quantized) {
  const auto pair = [&](const std::string& from, const std::string& to, const std::string& p) {
    return quantized ? " " + to + "q = QuantizeLinear(" + from + ", s" + p + ", z" + p + ") " + to +
                           " = DequantizeLinear(" + to + "q, s" + p + ", z" + p + ")"
                     : " " + to + " = Identity(" + from + ")";
  };
  const std::string weights = quantized ? " wd = DequantizeLinear<axis=0>(wq, ws, wz)" : "";
  const std::string text =
      "g (float[2,3,6,6] x) => (float[2,6,3,3] y) {" + pair("x", "xd", "1") + weights +
      " c = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (xd, " + (quantized ? "wd" : "w") + ") r = Relu(c)" +
      pair("r", "rd", "2") + " a = Add(rd, xd)" + pair("a", "ad", "3") +
      " m = MaxPool <kernel_shape=[2,2], strides=[2,2]> (ad) v = AveragePool <kernel_shape=[2,2], strides=[2,2]> (ad)" +
      pair("v", "vd", "4") + " t = Sigmoid(vd)" + pair("t", "td", "5") + " k = Concat <axis=1> (m, td)" +
      pair("k", "y", "3") + " }";
  core::Rng rng(3);
  std::map<std::string, Tensor> parameters;
  std::vector<double> values;
  std::vector<std::int64_t> weight_codes;
  for (int i = 0; i < 81; ++i) {
    weight_codes.push_back(rng.integer(-127, 127));
    values.push_back(float32(static_cast<double>(weight_codes.back()) * 0.004));
  }
  if (!quantized) {
    return parse(text, {{"w", reals({3, 3, 3, 3}, values)}});
  }
  parameters = {{"wq", codes(DType::int8, {3, 3, 3, 3}, weight_codes)},
                {"ws", reals({3}, std::vector<double>(3, float32(0.004)))},
                {"wz", codes(DType::int8, {3}, {0, 0, 0})}};
  const std::array scales{0.0157, 0.041, 0.047, 0.037, 1.0 / 256};
  const std::array<std::int64_t, 5> zeros{3, -128, -41, -37, -128};
  for (std::size_t i = 0; i < scales.size(); ++i) {
    parameters["s" + std::to_string(i + 1)] = Tensor::scalar(DType::float32, float32(scales[i]));
    parameters["z" + std::to_string(i + 1)] = codes(DType::int8, {}, {zeros[i]});
  }
  return parse(text, parameters);
}

TEST(IntegerCheck, FollowsAWholeBlock) {
  Judged judged(block(false), block(true));
  core::Rng rng(11);
  std::vector<double> x(216);
  for (double& value : x) {
    value = float32(rng.uniform(-2, 2));
  }
  core::TensorMap inputs{{"x", reals({2, 3, 6, 6}, x)}};
  auto outputs = reference::execute(*judged.artifact, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  Tensor y = core::rounded_to_type(outputs->at("y"));
  judged.add("typical", inputs, {{"y", y}});
  EXPECT_THAT(judged.integers(), ::testing::IsEmpty());
  EXPECT_EQ(judged.judgement.style, StyleName::half_even);

  y.reals()[17] += float32(0.047);  // one step of the output
  judged.evidence.executions[0].outputs.at("y") = core::rounded_to_type(y);
  EXPECT_EQ(judged.integers().size(), 1U);
}

TEST(IntegerCheck, JudgesQOperatorsLikeTheirQdqForm) {
  const std::string text =
      "g (uint8[1,1,2,2] x) => (uint8[1,1,2,2] y) { y = QLinearConv <kernel_shape=[1,1]> (x, xs, xz, w, ws, wz, ys, "
      "yz, b) }";
  const std::map<std::string, Tensor> parameters{
      {"xs", Tensor::scalar(DType::float32, 0.5)},  {"xz", codes(DType::uint8, {}, {10})},
      {"w", codes(DType::int8, {1, 1, 1, 1}, {3})}, {"ws", Tensor::scalar(DType::float32, 0.25)},
      {"wz", codes(DType::int8, {}, {0})},          {"ys", Tensor::scalar(DType::float32, 1)},
      {"yz", codes(DType::uint8, {}, {7})},         {"b", codes(DType::int32, {1}, {4})}};
  const Shape shape{1, 1, 2, 2};
  // Accumulators 3·(q − 10) + 4 = 4, 16, 28, −11; times 1/8, plus 7.
  const auto judge_with = [&](std::vector<std::int64_t> y) {
    Judged judged(parse(text, parameters), parse(text, parameters));
    judged.add("typical", {{"x", codes(DType::uint8, shape, {10, 14, 18, 5})}},
               {{"y", codes(DType::uint8, shape, std::move(y))}});
    return judged.integers().size();
  };
  EXPECT_EQ(judge_with({7, 9, 11, 6}), 0U);
  EXPECT_EQ(judge_with({8, 9, 11, 6}), 0U);  // 0.5 + 7: either side of the tie
  EXPECT_EQ(judge_with({7, 10, 11, 6}), 1U);
}

// What correct engines do: each row is one deterministic way from accumulator to code.
struct Engine {
  const char* name;
  std::function<double(const ConvLayer&, std::int64_t sum, std::int64_t channel)> requantize;
};

double fixed_point(double multiplier, std::int64_t sum, bool twice) {
  int exponent = 0;
  const double mantissa = std::frexp(multiplier, &exponent);  // 0.5 <= mantissa < 1
  const auto m = static_cast<std::int64_t>(std::llround(std::ldexp(mantissa, 31)));
  if (!twice) {
    return std::floor(static_cast<double>(sum * m) / std::ldexp(1.0, 31 - exponent) + 0.5);
  }
  const double high = std::round(static_cast<double>(sum) * static_cast<double>(m) / std::ldexp(1.0, 31));
  return std::round(std::ldexp(high, exponent));
}

const std::vector<Engine>& engines() {
  static const std::vector<Engine> kEngines{
      {"half_even", [](const ConvLayer& l, std::int64_t sum,
                       std::int64_t j) { return std::nearbyint(static_cast<double>(sum) * l.multiplier(j)); }},
      {"half_away", [](const ConvLayer& l, std::int64_t sum,
                       std::int64_t j) { return std::round(static_cast<double>(sum) * l.multiplier(j)); }},
      {"float_multiply",
       [](const ConvLayer& l, std::int64_t sum, std::int64_t j) {
         const float m =
             static_cast<float>(l.input_scale) * static_cast<float>(l.scale_of(j)) / static_cast<float>(l.output_scale);
         return std::nearbyint(static_cast<double>(static_cast<float>(sum) * m));
       }},
      {"reciprocal",
       [](const ConvLayer& l, std::int64_t sum, std::int64_t j) {
         const float m = static_cast<float>(l.input_scale) * static_cast<float>(l.scale_of(j));
         const float inverse = 1.0F / static_cast<float>(l.output_scale);
         return std::nearbyint(static_cast<double>(static_cast<float>(sum) * m * inverse));
       }},
      {"fixed_31",
       [](const ConvLayer& l, std::int64_t sum, std::int64_t j) { return fixed_point(l.multiplier(j), sum, false); }},
      {"double_rounding",
       [](const ConvLayer& l, std::int64_t sum, std::int64_t j) { return fixed_point(l.multiplier(j), sum, true); }},
      {"float32",
       [](const ConvLayer& l, std::int64_t sum, std::int64_t j) {
         // A sum in float32 that is as wrong as its bound allows for a few terms.
         const float real =
             static_cast<float>(sum) * (static_cast<float>(l.input_scale) * static_cast<float>(l.scale_of(j)));
         return std::nearbyint(static_cast<double>(std::nextafter(real, 0.0F) / static_cast<float>(l.output_scale)));
       }},
  };
  return kEngines;
}

TEST(IntegerCheck, RaisesNoAlarmOnCorrectEngines) {
  constexpr int kLayers = 1050;
  core::Rng rng(20261121);
  int alarms = 0;
  std::map<std::string, int> recognized;
  for (int i = 0; i < kLayers; ++i) {
    const RandomLayer random = random_layer(rng, rng.integer(0, 1) == 1);
    const Engine& engine = engines()[static_cast<std::size_t>(i) % engines().size()];
    const ConvLayer& layer = random.layer;
    const auto y = layer.run(layer.input_codes(random.x),
                             [&](std::int64_t sum, std::int64_t j) { return engine.requantize(layer, sum, j); });
    Judgement judgement;
    const auto findings = judge_codes(layer, random.x, y, &judgement);
    ++recognized[std::string(core::word_of(judgement.style))];
    if (!findings.empty() || !judgement.style) {
      ++alarms;
      ADD_FAILURE() << "layer " << i << " of seed 20261121, engine " << engine.name << ": "
                    << (findings.empty() ? "did not apply" : findings[0].message);
    }
  }
  EXPECT_EQ(alarms, 0);
  for (const auto& [style, count] : recognized) {
    std::printf("  recognized as %s: %d\n", style.c_str(), count);
  }
}

TEST(IntegerCheck, CatchesSeededDefects) {
  struct Defect {
    const char* name;
    std::function<std::vector<std::int64_t>(const ConvLayer&, const std::vector<std::int64_t>&)> run;
  };
  const auto nearest = [](const ConvLayer& l) {
    return
        [&l](std::int64_t sum, std::int64_t j) { return std::nearbyint(static_cast<double>(sum) * l.multiplier(j)); };
  };
  const std::vector<Defect> defects{
      {"truncates",
       [](const ConvLayer& l, const std::vector<std::int64_t>& x) {
         return l.run(
             x, [&l](std::int64_t s, std::int64_t j) { return std::trunc(static_cast<double>(s) * l.multiplier(j)); });
       }},
      {"drops the bias",
       [&](const ConvLayer& l, const std::vector<std::int64_t>& x) {
         ConvLayer wrong = l;
         wrong.bias_codes.assign(wrong.bias_codes.size(), 0);
         return wrong.run(x, nearest(wrong));
       }},
      {"first channel's scale for all",
       [&](const ConvLayer& l, const std::vector<std::int64_t>& x) {
         return l.run(x, [&l](std::int64_t s, std::int64_t) {
           return std::nearbyint(static_cast<double>(s) * l.multiplier(0));
         });
       }},
      {"scales rolled",
       [&](const ConvLayer& l, const std::vector<std::int64_t>& x) {
         return l.run(x, [&l](std::int64_t s, std::int64_t j) {
           return std::nearbyint(static_cast<double>(s) * l.multiplier((j + 1) % l.out));
         });
       }},
      {"scale of one channel doubled",
       [&](const ConvLayer& l, const std::vector<std::int64_t>& x) {
         return l.run(x, [&l](std::int64_t s, std::int64_t j) {
           return std::nearbyint(static_cast<double>(s) * l.multiplier(j) * (j == 0 ? 2 : 1));
         });
       }},
      {"input zero point off by one",
       [&](const ConvLayer& l, const std::vector<std::int64_t>& x) {
         ConvLayer wrong = l;
         wrong.input_zero += 1;
         return wrong.run(x, nearest(wrong));
       }},
      {"pads with the code zero",
       [&](const ConvLayer& l, const std::vector<std::int64_t>& x) { return l.run(x, nearest(l), -l.input_zero); }},
  };
  for (const Defect& defect : defects) {
    core::Rng rng(7);
    int visible = 0, caught = 0;
    for (int i = 0; i < 150; ++i) {
      const RandomLayer random = random_layer(rng);
      const ConvLayer& layer = random.layer;
      const auto x = layer.input_codes(random.x);
      const auto right = layer.run(x, nearest(layer));
      const auto wrong = defect.run(layer, x);
      if (wrong == right) {
        continue;
      }
      ++visible;
      caught += judge_codes(layer, random.x, wrong).empty() ? 0 : 1;
    }
    std::printf("  %s: caught %d of %d that change a code\n", defect.name, caught, visible);
    EXPECT_GT(visible, 20) << defect.name;
    EXPECT_GE(caught, visible * 95 / 100) << defect.name;
  }
}

}  // namespace
}  // namespace assay::judge::testing
