#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor bytes(Shape shape, Ints values) { return codes(DType::uint8, std::move(shape), std::move(values)); }
Tensor int8s(Shape shape, Ints values) { return codes(DType::int8, std::move(shape), std::move(values)); }

TEST(QuantizeLinear, RoundsTiesBeforeAddingZeroPoint) {
  // 2.5, 3.5, -2.5 steps of 2 with zero_point 1: 2, 4, -2 and then one more.
  const Tensor y = first_output("QuantizeLinear", {reals({5, 7, -5}), scalar(2), scalar(DType::int8, 1)});
  EXPECT_EQ(y.type(), DType::int8);
  EXPECT_THAT(y.integers(), ElementsAre(3, 5, -1));
}

TEST(QuantizeLinear, SaturatesAndDefaultsToUint8) {
  const Tensor y = first_output("QuantizeLinear", {reals({-1, 3e9, 254.5}), scalar(1)});
  EXPECT_EQ(y.type(), DType::uint8);
  EXPECT_THAT(y.integers(), ElementsAre(0, 255, 254));
}

TEST(QuantizeLinear, TakesOneScaleForEachIndexOfItsAxis) {
  const Tensor x = reals({2, 2}, {1, 2, 3, 4});
  const std::vector<Tensor> inputs{x, reals({1, 0.5}), int8s({2}, {0, 10})};
  EXPECT_THAT(first_output("QuantizeLinear", inputs).integers(), ElementsAre(1, 14, 3, 18));
  EXPECT_THAT(first_output("QuantizeLinear", inputs, {{"axis", std::int64_t{-2}}}).integers(),
              ElementsAre(1, 2, 16, 18));
}

TEST(QuantizeLinear, PerAxisWithEqualScalesEqualsPerTensor) {
  const Tensor x = counting({3, 4}, -1, 0.37);
  EXPECT_EQ(first_output("QuantizeLinear", {x, reals({4}, {0.1F, 0.1F, 0.1F, 0.1F}), int8s({4}, {3, 3, 3, 3})}),
            first_output("QuantizeLinear", {x, scalar(0.1F), scalar(DType::int8, 3)}));
}

TEST(QuantizeLinear, TakesTheScaleAsFloat32StoresIt) {
  // In float64 0.75 / 0.1 is the tie 7.5, which goes to 8. The nearest float32 to 0.1 is a little larger.
  EXPECT_THAT(first_output("QuantizeLinear", {reals({0.75}), scalar(0.1), scalar(DType::int8, 0)}).integers(),
              ElementsAre(7));
}

TEST(QuantizeLinear, GivesTheTypeThatOutputDtypeNames) {
  const Tensor y =
      first_output("QuantizeLinear", {reals({70000, -1}), scalar(1)}, {{"output_dtype", std::int64_t{4}}}, 21);
  EXPECT_EQ(y.type(), DType::uint16);
  EXPECT_THAT(y.integers(), ElementsAre(65535, 0));
}

TEST(QuantizeLinear, BlocksShareAScaleAlongTheirAxis) {
  // Blocks of two along axis 1; the last holds one element.
  const Tensor x = reals({2, 3}, {2, 4, 6, 8, 10, 12});
  const Tensor scales = reals({2, 2}, {1, 2, 4, 0.5});
  const Attributes blocks{{"axis", std::int64_t{1}}, {"block_size", std::int64_t{2}}};
  const Tensor y = first_output("QuantizeLinear", {x, scales, int8s({2, 2}, {0, 1, 2, 3})}, blocks, 21);
  EXPECT_THAT(y.integers(), ElementsAre(2, 4, 4, 4, 4, 27));
  EXPECT_EQ(first_output("DequantizeLinear", {y, scales, int8s({2, 2}, {0, 1, 2, 3})}, blocks, 21).to_reals(),
            (std::vector<double>{2, 4, 6, 8, 8, 12}));
}

TEST(QuantizeLinear, BlocksAlongAnOuterAxisHaveTheirOwnScalesInside) {
  const Tensor x = reals({2, 2}, {2, 4, 6, 8});
  const Attributes blocks{{"axis", std::int64_t{0}}, {"block_size", std::int64_t{2}}};
  EXPECT_THAT(first_output("QuantizeLinear", {x, reals({1, 2}, {1, 4}), int8s({1, 2}, {0, 0})}, blocks, 21).integers(),
              ElementsAre(2, 1, 6, 2));
  EXPECT_THAT(error_of("QuantizeLinear", {x, reals({2, 2}, {1, 4, 1, 4})}, blocks, 21),
              HasSubstr("expected [1,2] for blocks of 2 along axis 0"));
}

TEST(QuantizeLinear, SaturatesToFourAndTwoBits) {
  const Tensor x = reals({-9, -8, 7, 8, 20});
  EXPECT_THAT(first_output("QuantizeLinear", {x, scalar(1), scalar(DType::int4, 0)}, {}, 21).integers(),
              ElementsAre(-8, -8, 7, 7, 7));
  EXPECT_THAT(first_output("QuantizeLinear", {x, scalar(1), scalar(DType::uint2, 1)}, {}, 25).integers(),
              ElementsAre(0, 0, 3, 3, 3));
}

TEST(QuantizeLinear, RoundsToFloat8AndStopsAtItsLargestUnlessToldNotTo) {
  const Tensor zero(DType::float8e4m3fn, {}, std::vector<double>{0});
  const Tensor x = reals({17, 1000});
  EXPECT_EQ(first_output("QuantizeLinear", {x, scalar(1), zero}, {}, 19).to_reals(), (std::vector<double>{16, 448}));
  EXPECT_TRUE(
      std::isnan(first_output("QuantizeLinear", {x, scalar(1), zero}, {{"saturate", std::int64_t{0}}}, 19).as_real(1)));
  const Tensor one(DType::float8e4m3fn, {}, std::vector<double>{1});
  EXPECT_THAT(error_of("QuantizeLinear", {x, scalar(1), one}, {}, 19),
              HasSubstr("zero points of floating-point codes"));
}

TEST(QuantizeLinear, RefusesNaNAndScalesThatAreNoSteps) {
  EXPECT_THAT(error_of("QuantizeLinear", {reals({0, std::nan("")}), scalar(1)}), HasSubstr("NaN at element 1"));
  for (const double scale : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_THAT(error_of("QuantizeLinear", {reals({1}), scalar(scale)}), HasSubstr("expected finite positive scales"));
  }
  EXPECT_THAT(error_of("QuantizeLinear", {counting({2, 3}), reals({1, 1})}), HasSubstr("axis 1 of [2,3] has extent 3"));
  EXPECT_THAT(error_of("QuantizeLinear", {counting({2, 2}), reals({1, 1}), scalar(DType::int8, 0)}),
              HasSubstr("input 2 \"in2\" has shape [], but input 1 \"in1\" has [2]"));
  EXPECT_THAT(error_of("QuantizeLinear", {counting({2, 2}), reals({1, 1})}, {}, 10), HasSubstr("before opset 13"));
  EXPECT_THAT(error_of("QuantizeLinear", {counting({2, 2}), scalar(1)}, {{"block_size", std::int64_t{2}}}, 21),
              HasSubstr("for blocks of 2 along axis 1"));
}

TEST(DequantizeLinear, SubtractsTheZeroPointAndScales) {
  const Tensor y =
      first_output("DequantizeLinear", {bytes({3}, {0, 128, 255}), scalar(0.5), scalar(DType::uint8, 128)});
  EXPECT_EQ(y.type(), DType::float32);
  EXPECT_THAT(y.reals(), ElementsAre(-64, 0, 63.5));
}

TEST(DequantizeLinear, TakesOneScaleForEachIndexOfItsAxis) {
  const Tensor x = int8s({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(
      first_output("DequantizeLinear", {x, reals({1, 10}), int8s({2}, {0, 1})}, {{"axis", std::int64_t{0}}}).reals(),
      ElementsAre(1, 2, 20, 30));
}

TEST(DequantizeLinear, ReadsInt32BiasesAnd16Bits) {
  EXPECT_THAT(first_output("DequantizeLinear", {codes(DType::int32, {1}, {-100000}), scalar(0.25)}).reals(),
              ElementsAre(-25000));
  EXPECT_THAT(first_output("DequantizeLinear",
                           {codes(DType::uint16, {1}, {65535}), scalar(1), scalar(DType::uint16, 65534)}, {}, 21)
                  .reals(),
              ElementsAre(1));
  EXPECT_THAT(error_of("DequantizeLinear", {bytes({1}, {1}), scalar(1), scalar(DType::int8, 0)}),
              HasSubstr("has type uint8, but input 2"));
}

TEST(DynamicQuantizeLinear, CoversTheRangeAndZero) {
  // [0, 10] over 255 steps; [-5, 0] has zero_point 255.
  const Tensor x = reals({2, 10});
  const auto outputs = run_op("DynamicQuantizeLinear", {&x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT((*outputs)[0].integers(), ElementsAre(51, 255));
  EXPECT_EQ((*outputs)[1].reals()[0], static_cast<double>(10.0F / 255.0F));
  EXPECT_THAT((*outputs)[2].integers(), ElementsAre(0));
  EXPECT_THAT(first_output("DynamicQuantizeLinear", {reals({-5, -1})}).integers(), ElementsAre(0, 204));
  EXPECT_THAT(first_output("DynamicQuantizeLinear", {reals({0, 0})}).integers(), ElementsAre(0, 0));
  EXPECT_THAT(error_of("DynamicQuantizeLinear", {reals({HUGE_VAL})}), HasSubstr("leaves no range"));
}

TEST(ConvInteger, TakesZeroPointsOffAndPadsWithThem) {
  // x - 1 = [0 1 2], w - 1 = [1 2]; padding is x's zero_point and adds nothing.
  const std::vector<Tensor> inputs{bytes({1, 1, 3}, {1, 2, 3}), bytes({1, 1, 2}, {2, 3}), scalar(DType::uint8, 1),
                                   scalar(DType::uint8, 1)};
  const Tensor y = first_output("ConvInteger", inputs, {{"pads", Ints{1, 0}}});
  EXPECT_EQ(y.type(), DType::int32);
  EXPECT_THAT(y.integers(), ElementsAre(0, 2, 5));
}

TEST(ConvInteger, TakesAWeightZeroPointForEachOutputChannel) {
  const std::vector<Tensor> inputs{bytes({1, 1, 1}, {10}), int8s({2, 1, 1}, {5, 5}), scalar(DType::uint8, 0),
                                   int8s({2}, {0, 2})};
  EXPECT_THAT(first_output("ConvInteger", inputs).integers(), ElementsAre(50, 30));
}

TEST(MatMulInteger, TakesZeroPointsForRowsAndColumns) {
  const Tensor a = bytes({2, 1}, {10, 10});
  const Tensor b = int8s({1, 2}, {3, 3});
  EXPECT_THAT(first_output("MatMulInteger", {a, b}).integers(), ElementsAre(30, 30, 30, 30));
  EXPECT_THAT(first_output("MatMulInteger", {a, b, bytes({2}, {0, 9}), int8s({2}, {0, -7})}).integers(),
              ElementsAre(30, 100, 3, 10));
}

TEST(QLinearConv, RequantizesTheExactAccumulator) {
  // (x - 128) * (w - 0) = 4 * 5 = 20, plus bias 5 is 25; 25 * 0.5 * 0.2 / 1 = 2.5 goes to 2, plus zero_point 10.
  const std::vector<Tensor> inputs{
      bytes({1, 1, 1}, {132}), scalar(0.5),  scalar(DType::uint8, 128), int8s({1, 1, 1}, {5}),        scalar(0.25),
      scalar(DType::int8, 0),  scalar(1.25), scalar(DType::uint8, 10),  codes(DType::int32, {1}, {5})};
  EXPECT_THAT(first_output("QLinearConv", inputs).integers(), ElementsAre(12));
}

TEST(QLinearConv, ScalesEachOutputChannelByItself) {
  const std::vector<Tensor> inputs{
      int8s({1, 1, 1}, {100}), scalar(1), scalar(DType::int8, 0), int8s({3, 1, 1}, {1, 1, 1}), reals({1, 0.5, 4}),
      int8s({3}, {0, 0, 0}),   scalar(1), scalar(DType::int8, 3)};
  EXPECT_THAT(first_output("QLinearConv", inputs).integers(), ElementsAre(103, 53, 127));
}

TEST(QLinearMatMul, RequantizesTheExactAccumulator) {
  // [1 2] · [3 4]ᵀ = 11; 11 * 0.5 * 1 / 1 = 5.5 goes to 6, plus 1.
  const std::vector<Tensor> inputs{
      int8s({1, 2}, {1, 2}),  scalar(0.5), scalar(DType::int8, 0), int8s({2, 1}, {3, 4}), scalar(1),
      scalar(DType::int8, 0), scalar(1),   scalar(DType::int8, 1)};
  EXPECT_THAT(first_output("QLinearMatMul", inputs).integers(), ElementsAre(7));
}

TEST(QLinearMatMul, ReportsAnAccumulatorThatLeaves32Bits) {
  // 255 * 255 * 33100 > 2^31.
  const std::int64_t depth = 33100;
  const Tensor a = bytes({1, depth}, Ints(static_cast<std::size_t>(depth), 255));
  const Tensor b = bytes({depth, 1}, Ints(static_cast<std::size_t>(depth), 255));
  EXPECT_THAT(error_of("MatMulInteger", {a, b}), HasSubstr("leaves 32 bits"));
  const Tensor zero = scalar(DType::uint8, 0);
  EXPECT_THAT(error_of("QLinearMatMul", {a, scalar(1), zero, b, scalar(1), zero, scalar(1), zero}),
              HasSubstr("is 2152327500, which leaves 32 bits"));
}

}  // namespace
}  // namespace assay::reference
