#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/artifact/evident_options.hpp"
#include "harness/judge/artifact/written_out.hpp"
#include "harness/judge/enclosures/dynamic_rounding.hpp"
#include "reference/dynamic_quantization.hpp"
#include "reference/executor.hpp"
#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using testing::parse;
using testing::reals;
using testing::Tensor;

core::TensorPtr drawn(std::uint64_t seed, double low, double high) {
  core::Rng rng(seed, "dynamic");
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.push_back(testing::float32(rng.uniform(low, high)));
  values[7] = 0;
  return std::make_shared<const Tensor>(reals({5, 12}, values));
}

bool holds(const Enclosure& enclosure, const Tensor& values) {
  const Enclosure ends = with_explicit_ends(enclosure);
  for (std::size_t i = 0; i < values.reals().size(); ++i) {
    const double value = values.reals()[i];
    if (value < ends.low_or_centre().reals()[i] || value > ends.high_or_centre().reals()[i]) return false;
  }
  return true;
}

TEST(DynamicRounding, NoElementMovesByMoreThanHalfAStep) {
  for (const auto& [low, high] : {std::pair(-1.0, 2.0), {0.5, 3.0}, {-3.0, -0.5}, {-1.0, 1.0}}) {
    const auto values = drawn(3, low, high);
    const auto rounded = rounded_dynamically(values);
    const double step = dynamic_step(values->reals(), false);
    EXPECT_NEAR(step, (std::max(high, 0.0) - std::min(low, 0.0)) / 255, 0.1 * step);
    for (std::size_t i = 0; i < 60; ++i)
      EXPECT_LE(std::fabs(rounded->reals()[i] - values->reals()[i]), step / 2 * 1.0001) << low << " " << i;
    EXPECT_EQ(rounded->reals()[7], 0);
    EXPECT_TRUE(holds(rounded_dynamically(exact_enclosure(values), false, 0), *rounded));
  }
}

TEST(DynamicRounding, ACodeLatticeHoldsWhatDynamicQuantizeLinearGives) {
  const Style style{.name = StyleName::exact, .arithmetic = {}};
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    const auto values = drawn(seed, -1, seed % 2 == 0 ? 2 : 1);
    const auto enclosure = through_dynamic_codes(exact_enclosure(values), style);
    ASSERT_TRUE(enclosure);
    EXPECT_TRUE(holds(*enclosure, *rounded_dynamically(values))) << seed;
    // Far tighter than the bound of any such rounding: outside ties one code is left.
    std::size_t wide = 0;
    const double step = dynamic_step(values->reals(), false);
    for (const double radius : radius_of(*enclosure)) wide += radius > step / 4 ? 1U : 0U;
    EXPECT_LT(wide, 6U) << seed;
  }
}

TEST(DynamicRounding, ARangeThatIsUnknownKeepsHalfAStep) {
  const auto values = drawn(5, -1, 2);
  const Enclosure loose = enclosure_around(values, std::vector<double>(60, 0.5));
  const auto enclosure = through_dynamic_codes(loose, {.name = StyleName::exact, .arithmetic = {}});
  ASSERT_TRUE(enclosure);
  EXPECT_TRUE(holds(*enclosure, *rounded_dynamically(values)));
  EXPECT_GT(radius_of(*enclosure).front(), 0.5);
}

TEST(DynamicRounding, ZerosStayZeroAndInfinitiesHaveNoRange) {
  const auto zeros = std::make_shared<const Tensor>(reals({2, 2}, {0, 0, 0, 0}));
  EXPECT_EQ(*rounded_dynamically(zeros), *zeros);
  const Style style{.name = StyleName::exact, .arithmetic = {}};
  EXPECT_TRUE(through_dynamic_codes(exact_enclosure(zeros), style)->is_exact());
  const auto infinite = std::make_shared<const Tensor>(reals({2}, {1, std::numeric_limits<double>::infinity()}));
  EXPECT_FALSE(through_dynamic_codes(exact_enclosure(infinite), style));
}

const std::map<std::string, Tensor> kProduct{{"w", codes(DType::int8, {3, 2}, {30, -70, 1, 17, 5, -90})},
                                             {"wz", codes(DType::int8, {2}, {0, 0})},
                                             {"ws", reals({2}, {0.25, 0.125})},
                                             {"k", codes(DType::uint8, {2, 1, 1, 1}, {130, 7})},
                                             {"kz", codes(DType::uint8, {}, {100})},
                                             {"ks", Tensor::scalar(DType::float32, 0.5)},
                                             {"bias", reals({2}, {0.5, -0.25})},
                                             {"wide_bias", reals({1, 2, 1, 1}, {0.5, -0.25})}};

const std::string kMatMul =
    "q, s, z = DynamicQuantizeLinear (x) a = MatMulInteger (q, w, z, wz) f = Cast <to=1> (a) m = Mul (s, ws) ";
const std::string kConv =
    "q, s, z = DynamicQuantizeLinear (x) a = ConvInteger <kernel_shape=[1,1]> (q, k, z, kz) f = Cast <to=1> (a) "
    "m = Mul (ks, s) ";

std::vector<std::string> operators(const model::Model& model) {
  std::vector<std::string> all;
  for (const model::Node& node : model.graph.nodes) all.push_back(node.op_type);
  return all;
}

void expect_same(const model::Model& artifact, const model::Model& written, core::Shape shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < core::element_count(shape); ++i)
    values.push_back(static_cast<double>(37 * i % 101) - 40);
  const core::TensorMap inputs{{"x", reals(std::move(shape), values)}};
  const auto expected = reference::execute(artifact, inputs), actual = reference::execute(written, inputs);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(actual) << actual.error().message;
  for (std::size_t i = 0; i < expected->at("y").reals().size(); ++i)
    EXPECT_NEAR(expected->at("y").reals()[i], actual->at("y").reals()[i], 1e-4) << i;
}

TEST(WrittenOut, ProductsOfDynamicCodesAreQuantizersAndOneOperator) {
  const auto artifact = std::make_shared<const model::Model>(
      parse("g (float[2,3] x) => (float[2,2] y) { " + kMatMul + "y = Mul (f, m) }", kProduct));
  const auto written = written_out(artifact);
  EXPECT_EQ(operators(*written),
            (std::vector<std::string>{"DynamicQuantizeLinear", "DequantizeLinear", "DequantizeLinear", "MatMul"}));
  expect_same(*artifact, *written, {2, 3});
}

TEST(WrittenOut, TheAddBehindAProductIsItsBias) {
  const auto gemm = parse("g (float[2,3] x) => (float[2,2] y) { y = Gemm (x, w, bias) }", kProduct);
  const auto sum = parse("g (float[2,3] x) => (float[2,2] y) { t = MatMul (x, w) y = Add (t, bias) }", kProduct);
  const auto artifact = std::make_shared<const model::Model>(
      parse("g (float[2,3] x) => (float[2,2] y) { " + kMatMul + "t = Mul (f, m) y = Add (t, bias) }", kProduct));
  EXPECT_EQ(operators(*written_out(artifact, gemm.graph)).back(), "Gemm");
  EXPECT_EQ(operators(*written_out(artifact, sum.graph)).back(), "Add");
  expect_same(*artifact, *written_out(artifact, gemm.graph), {2, 3});

  const auto conv = std::make_shared<const model::Model>(parse(
      "g (float[1,1,2,3] x) => (float[1,2,2,3] y) { " + kConv + "t = Mul (f, m) y = Add (t, wide_bias) }", kProduct));
  const auto written = written_out(conv);
  EXPECT_EQ(operators(*written).back(), "Conv");
  EXPECT_EQ(written->graph.nodes.back().inputs.size(), 3U);
  expect_same(*conv, *written, {1, 1, 2, 3});
}

TEST(WrittenOut, AnAddIsNoBiasWhereTheProductIsGivenOutOrTheAddendIsNoChannels) {
  const auto gemm = parse("g (float[2,3] x) => (float[2,2] y) { y = Gemm (x, w, bias) }", kProduct);
  const auto given_out = std::make_shared<const model::Model>(
      parse("g (float[2,3] x) => (float[2,2] y, float[2,2] t) { " + kMatMul + "t = Mul (f, m) y = Add (t, bias) }",
            kProduct));
  EXPECT_EQ(operators(*written_out(given_out, gemm.graph)).back(), "Add");

  auto parameters = kProduct;
  parameters.emplace("map", reals({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}));
  const auto conv = std::make_shared<const model::Model>(
      parse("g (float[1,1,2,3] x) => (float[1,2,2,3] y) { " + kConv + "t = Mul (f, m) y = Add (t, map) }", parameters));
  EXPECT_EQ(operators(*written_out(conv)).back(), "Add");
  expect_same(*conv, *written_out(conv), {1, 1, 2, 3});
}

TEST(WrittenOut, CodesMayBeMovedBeforeTheyAreMultiplied) {
  const auto artifact = std::make_shared<const model::Model>(
      parse("g (float[3,2] x) => (float[2,2] y) { q0, s, z = DynamicQuantizeLinear (x) q = Transpose <perm=[1,0]> (q0) "
            "a = MatMulInteger (q, w, z, wz) f = Cast <to=1> (a) m = Mul (s, ws) y = Mul (f, m) }",
            kProduct));
  const auto written = written_out(artifact);
  EXPECT_EQ(operators(*written).back(), "MatMul");
  expect_same(*artifact, *written, {3, 2});
}

TEST(WrittenOut, TheConstantMayStandOnTheLeft) {
  const auto artifact = std::make_shared<const model::Model>(
      parse("g (float[2,4] x) => (float[3,4] y) { q, s, z = DynamicQuantizeLinear (x) "
            "a = MatMulInteger (w, q, one, z) f = Cast <to=1> (a) m = Mul (ks, s) y = Mul (f, m) }",
            [] {
              auto parameters = kProduct;
              parameters.emplace("one", codes(DType::int8, {}, {1}));
              return parameters;
            }()));
  const auto written = written_out(artifact);
  EXPECT_EQ(operators(*written).back(), "MatMul");
  expect_same(*artifact, *written, {2, 4});
}

TEST(WrittenOut, AProductThatSomebodyElseReadsStaysOnCodes) {
  const auto artifact = std::make_shared<const model::Model>(
      parse("g (float[2,3] x) => (float[2,2] y, float[2,2] f) { " + kMatMul + "y = Mul (f, m) }", kProduct));
  const auto written = written_out(artifact);
  EXPECT_TRUE(std::ranges::any_of(written->graph.nodes, &is_on_codes));
}

TEST(ArtifactView, KnowsOperandsWhoseRangeEachInferenceFinds) {
  const auto original = parse("g (float[2,3] x) => (float[2,2] y) { y = MatMul (x, w) }",
                              {{"w", reals({3, 2}, {7.5, -8, 0.25, 2, 1, -11})}});
  const auto artifact = std::make_shared<const model::Model>(
      parse("g (float[2,3] x) => (float[2,2] y) { " + kMatMul + "y = Mul (f, m) }", kProduct));
  const auto view = ArtifactView::build(artifact, original);
  ASSERT_TRUE(view) << view.error().message;
  const ArtifactNode* made = view->find_original(0);
  ASSERT_NE(made, nullptr);
  EXPECT_TRUE(made->inputs[0].dynamic);
  EXPECT_FALSE(made->inputs[0].quantized());
  EXPECT_EQ(made->inputs[0].original, "x");
  EXPECT_TRUE(made->quantized_inputs);
  EXPECT_TRUE(view->quantizers().empty());

  const converters::Options options = evident_options(artifact, original, {}, {});
  EXPECT_TRUE(options.dynamic);
  EXPECT_EQ(options.activation, DType::uint8);
  EXPECT_TRUE(options.per_axis);
}

TEST(ArtifactView, AScaleComputedFromItsOwnInputIsDynamic) {
  const auto original = parse("g (float[2,3] x) => (float[2,2] y) { y = MatMul (x, w) }",
                              {{"w", reals({3, 2}, {7.5, -8, 0.25, 2, 1, -11})}});
  auto parameters = kProduct;
  parameters.emplace("steps", Tensor::scalar(DType::float32, 255));
  parameters.emplace("zero", codes(DType::uint8, {}, {0}));
  const std::string computed =
      "g (float[2,3] x) => (float[2,2] y) { h = ReduceMax <keepdims=0> (x) s = Div (h, steps) "
      "q = QuantizeLinear (x, s, zero) v = DequantizeLinear (q, s, zero) u = DequantizeLinear <axis=1> (w, ws, wz) "
      "y = MatMul (v, u) }";
  const auto view = ArtifactView::build(std::make_shared<const model::Model>(parse(computed, parameters)), original);
  ASSERT_TRUE(view) << view.error().message;
  ASSERT_NE(view->find_original(0), nullptr);
  EXPECT_TRUE(view->find_original(0)->inputs[0].dynamic);
}

}  // namespace
}  // namespace assay::judge
