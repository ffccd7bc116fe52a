#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/op_case.hpp"

// Operators on codes; tests/conformance/second_opinion.py holds them against ONNX Runtime's kernels.

namespace assay::reference {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor coded(Shape shape, Ints values) { return codes(DType::int8, std::move(shape), std::move(values)); }
Tensor zero_at(std::int64_t value) { return scalar(DType::int8, value); }

TEST(QLinearAdd, AddsValuesAndBroadcasts) {
  // (1, 2) · 0.5 + 3 · 2 = 6.5, 7; in steps of 0.25 that is 26, 28, and the zero point is 1.
  const std::vector<Tensor> inputs{coded({2}, {1, 2}), scalar(0.5), zero_at(0),   coded({1}, {4}),
                                   scalar(2),          zero_at(1),  scalar(0.25), zero_at(1)};
  EXPECT_THAT(first_output("com.microsoft.QLinearAdd", inputs, {}, 1).integers(), ElementsAre(27, 29));
}

TEST(QLinearAdd, TakesZeroPointsThatAreLeftOutAsZero) {
  const Tensor a = coded({1}, {3});
  const Tensor one = scalar(1);
  const auto y = run_op("com.microsoft.QLinearAdd", {&a, &one, nullptr, &a, &one, nullptr, &one}, {}, 1);
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_THAT(y->front().integers(), ElementsAre(6));
}

TEST(QLinearMul, MultipliesValues) {
  // 4 · 0.5 times (3 − 1) · 2 = 8, in steps of 0.25 below the zero point −1.
  const std::vector<Tensor> inputs{coded({1}, {4}), scalar(0.5), zero_at(0),   coded({1}, {3}),
                                   scalar(2),       zero_at(1),  scalar(0.25), zero_at(-1)};
  EXPECT_THAT(first_output("com.microsoft.QLinearMul", inputs, {}, 1).integers(), ElementsAre(31));
}

TEST(QLinearLeakyRelu, ScalesWhatIsBelowZero) {
  const std::vector<Tensor> inputs{coded({2}, {-8, 8}), scalar(1), zero_at(0), scalar(0.5), zero_at(0)};
  EXPECT_THAT(first_output("com.microsoft.QLinearLeakyRelu", inputs, {{"alpha", 0.25}}, 1).integers(),
              ElementsAre(-4, 16));
}

TEST(QLinearSigmoid, IsAHalfAtZero) {
  const std::vector<Tensor> inputs{coded({2}, {3, 127}), scalar(1), zero_at(3), scalar(0.00390625), zero_at(-128)};
  EXPECT_THAT(first_output("com.microsoft.QLinearSigmoid", inputs, {}, 1).integers(), ElementsAre(0, 127));
}

TEST(QLinearAveragePool, CountsPadsWhereItIsAskedTo) {
  const std::vector<Tensor> inputs{coded({1, 1, 2}, {4, 8}), scalar(1), zero_at(0), scalar(1), zero_at(0)};
  Attributes attributes{{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}};
  EXPECT_THAT(first_output("com.microsoft.QLinearAveragePool", inputs, attributes, 1).integers(), ElementsAre(4, 6));
  attributes["count_include_pad"] = std::int64_t{1};
  EXPECT_THAT(first_output("com.microsoft.QLinearAveragePool", inputs, attributes, 1).integers(), ElementsAre(2, 6));
}

TEST(QLinearReduceMean, TakesItsAxesFromAnAttribute) {
  const std::vector<Tensor> inputs{coded({2, 2}, {1, 3, 5, 9}), scalar(1), zero_at(0), scalar(1), zero_at(0)};
  const Attributes attributes{{"axes", Ints{0}}, {"keepdims", std::int64_t{0}}};
  EXPECT_THAT(first_output("com.microsoft.QLinearReduceMean", inputs, attributes, 1).integers(), ElementsAre(3, 6));
}

TEST(QLinearConcat, BringsEveryOperandToTheScaleOfTheResult) {
  // 4 steps of 0.5 are 2; 4 steps of 1 above the zero point 1 are 3: 8 and 12 steps of 0.25.
  const std::vector<Tensor> inputs{scalar(0.25), zero_at(-2),     coded({1}, {4}), scalar(0.5),
                                   zero_at(0),   coded({1}, {4}), scalar(1),       zero_at(1)};
  EXPECT_THAT(first_output("com.microsoft.QLinearConcat", inputs, {{"axis", std::int64_t{0}}}, 1).integers(),
              ElementsAre(6, 10));
}

TEST(QLinearWhere, ChoosesValues) {
  const std::vector<Tensor> inputs{codes(DType::boolean, {2}, {1, 0}),
                                   coded({2}, {2, 2}),
                                   scalar(1),
                                   zero_at(0),
                                   coded({2}, {2, 2}),
                                   scalar(3),
                                   zero_at(1),
                                   scalar(0.5),
                                   zero_at(0)};
  EXPECT_THAT(first_output("com.microsoft.QLinearWhere", inputs, {}, 1).integers(), ElementsAre(4, 6));
}

TEST(QLinearSoftmax, IsTheVersionThatItsAttributeNames) {
  // Before opset 13 all axes from the named one on are one: four equal values have 1/4 each, afterwards two have 1/2.
  const std::vector<Tensor> inputs{coded({1, 2, 2}, {0, 0, 0, 0}), scalar(1), zero_at(0), scalar(0.125), zero_at(0)};
  const std::int64_t axis = 1;
  EXPECT_THAT(
      first_output("com.microsoft.QLinearSoftmax", inputs, {{"axis", axis}, {"opset", std::int64_t{11}}}, 1).integers(),
      ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(
      first_output("com.microsoft.QLinearSoftmax", inputs, {{"axis", axis}, {"opset", std::int64_t{13}}}, 1).integers(),
      ElementsAre(4, 4, 4, 4));
}

TEST(QLinearSoftmax, SaturatesWhereOneValueHasItAll) {
  const std::vector<Tensor> inputs{coded({2}, {127, -128}), scalar(1), zero_at(0), scalar(0.00390625), zero_at(-128)};
  EXPECT_THAT(first_output("com.microsoft.QLinearSoftmax", inputs, {{"opset", std::int64_t{13}}}, 1).integers(),
              ElementsAre(127, -128));
}

TEST(QLinearGlobalAveragePool, SaysWhatItDoesNotCompute) {
  const std::vector<Tensor> inputs{coded({1, 1, 2, 2}, {1, 2, 3, 4}), scalar(1), zero_at(0), scalar(1), zero_at(0)};
  EXPECT_THAT(first_output("com.microsoft.QLinearGlobalAveragePool", inputs, {}, 1).integers(), ElementsAre(2));
  EXPECT_THAT(error_of("com.microsoft.QLinearGlobalAveragePool", inputs, {{"channels_last", std::int64_t{1}}}, 1),
              HasSubstr("channels_last"));
}

TEST(QGemm, MultipliesTheSumAndItsBiasByAlpha) {
  // (2·3 + 1·4 + 5) · 0.5 · 0.25 · alpha 4 = 7.5: float32 without a scale for the result, 8 in steps of 1.
  const std::vector<Tensor> inputs{coded({1, 2}, {2, 1}),        scalar(0.5),  zero_at(0),
                                   coded({2, 1}, {3, 4}),        scalar(0.25), zero_at(0),
                                   codes(DType::int32, {1}, {5})};
  const Attributes alpha{{"alpha", 4.0}};
  EXPECT_THAT(first_output("com.microsoft.QGemm", inputs, alpha, 1).reals(), ElementsAre(DoubleEq(7.5)));
  std::vector<Tensor> quantized = inputs;
  quantized.insert(quantized.end(), {scalar(1), zero_at(0)});
  EXPECT_THAT(first_output("com.microsoft.QGemm", quantized, alpha, 1).integers(), ElementsAre(8));
}

TEST(MatMulIntegerToFloat, HasAScaleForEachColumnAndAdds) {
  const std::vector<Tensor> inputs{coded({1, 1}, {3}), coded({1, 2}, {5, 5}), scalar(2),         reals({1, 0.5}),
                                   zero_at(1),         coded({2}, {0, 1}),    reals({0.5, -0.5})};
  EXPECT_THAT(first_output("com.microsoft.MatMulIntegerToFloat", inputs, {}, 1).reals(),
              ElementsAre(DoubleEq(20.5), DoubleEq(7.5)));
}

TEST(DynamicQuantizeMatMul, TakesTheRangeOfItsInput) {
  // Range [0, 255]: scale 1, so that 3.4 is 3.
  const std::vector<Tensor> inputs{reals({1, 2}, {255, 3.4}), coded({2, 1}, {0, 2}), scalar(1)};
  EXPECT_THAT(first_output("com.microsoft.DynamicQuantizeMatMul", inputs, {}, 1).reals(), ElementsAre(DoubleEq(6)));
}

TEST(MicrosoftQuantizeLinear, HasSixteenBits) {
  const std::vector<Tensor> inputs{reals({-400, 400}), scalar(0.01), scalar(DType::int16, 0)};
  EXPECT_THAT(first_output("com.microsoft.QuantizeLinear", inputs, {}, 1).integers(), ElementsAre(-32768, 32767));
}

}  // namespace
}  // namespace assay::reference
