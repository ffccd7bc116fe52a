// Each field of the arithmetic policy, against numbers worked out by hand.
#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "converters/embedded/engine/requantize.hpp"
#include "tests/embedded_engine/graphs.hpp"

namespace assay::embedded::engine::test {
namespace {

using testing::ElementsAre;

/// One accumulator requantized by in_scale / out_scale.
std::int64_t code(std::int32_t acc, double in_scale, double out_scale, std::int64_t zero_point,
                  const ArithmeticPolicy& policy, DType type = DType::int8) {
  const std::array scales{in_scale};
  const Requantizer requantizer(policy, output_codes(type, out_scale, zero_point), scales);
  return code_value(requantizer.code(acc, 0), type);
}

TEST(Rounding, TiesAndFractions) {
  const auto rounded = [](Rounding rounding) {
    std::vector<std::int64_t> codes;
    for (const std::int32_t acc : {5, -5, 3, -3, 7}) {  // 2.5 -2.5 1.5 -1.5 3.5 in steps of 2
      codes.push_back(code(acc, 1, 2, 0, {.rounding = rounding}));
    }
    return codes;
  };
  EXPECT_THAT(rounded(Rounding::half_even), ElementsAre(2, -2, 2, -2, 4));
  EXPECT_THAT(rounded(Rounding::half_away), ElementsAre(3, -3, 2, -2, 4));
  EXPECT_THAT(rounded(Rounding::half_up), ElementsAre(3, -2, 2, -1, 4));
  EXPECT_THAT(rounded(Rounding::truncate), ElementsAre(2, -2, 1, -1, 3));
  EXPECT_THAT(rounded(Rounding::floor), ElementsAre(2, -3, 1, -2, 3));
}

TEST(Rounding, FixedPointRoundsAsItIsTold) {
  for (const Rounding rounding :
       {Rounding::half_even, Rounding::half_away, Rounding::half_up, Rounding::truncate, Rounding::floor}) {
    for (std::int32_t acc = -50; acc <= 50; ++acc) {
      const ArithmeticPolicy fixed{.rounding = rounding, .requantization = Requantization::fixed_point};
      EXPECT_EQ(code(acc, 1, 4, 3, fixed), code(acc, 1, 4, 3, {.rounding = rounding})) << acc;
    }
  }
}

TEST(ShiftRounded, SaturatesAndVanishes) {
  EXPECT_EQ(shift_rounded(3, -2, Rounding::half_even), 12);
  EXPECT_EQ(shift_rounded(3, -63, Rounding::half_even), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(shift_rounded(-3, -63, Rounding::half_even), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(shift_rounded(-3, 63, Rounding::floor), -1);
  EXPECT_EQ(shift_rounded(-3, 63, Rounding::half_even), 0);
}

// 1/3 in 31 bits is 1431655765 * 2^-32 (nearest).
TEST(FixedPoint, TakesTheBitsItIsGiven) {
  EXPECT_EQ(fixed_point(1.0 / 3, 31).multiplier, 1431655765);
  EXPECT_EQ(fixed_point(1.0 / 3, 31).shift, 32);
  EXPECT_EQ(fixed_point(1.0 / 3, 4).multiplier, 11);  // 10.67 / 32
  EXPECT_EQ(fixed_point(1.0 / 3, 4).shift, 5);
  EXPECT_EQ(fixed_point(1 - 0x1p-40, 31).multiplier, std::int64_t{1} << 30);  // rounds up to 2^31
  EXPECT_EQ(fixed_point(1 - 0x1p-40, 31).shift, 30);
}

// acc 3 * 0.375 = 1.125; twice rounded: high half of 3 * 0.75 is 2.25 -> 2, then 2 / 2 = 1.
// acc 1 * 0.375 = 0.375; twice rounded: 0.75 -> 1, then 0.5 -> 1: the second rounding shows.
TEST(DoubleRounding, RoundsTwice) {
  const ArithmeticPolicy twice{.requantization = Requantization::double_rounding};
  EXPECT_EQ(code(3, 0.375, 1, 0, twice), 1);
  EXPECT_EQ(code(1, 0.375, 1, 0, twice), 1);
  EXPECT_EQ(code(1, 0.375, 1, 0, {}), 0);
  EXPECT_EQ(code(10, 3, 1, 0, twice), 30);
}

// 41 * float(0.1) * float(1/0.2) against 41 * 0.1 / 0.2 = 20.5: float32 lands on the tie or beside it, never far.
TEST(Requantization, StylesDifferByAtMostOneStep) {
  for (const Requantization style : {Requantization::float32_multiply, Requantization::reciprocal,
                                     Requantization::fixed_point, Requantization::double_rounding}) {
    for (std::int32_t acc = -2000; acc <= 2000; ++acc) {
      const auto exact = code(acc, 0.0123, 0.2, 4, {});
      EXPECT_LE(std::abs(code(acc, 0.0123, 0.2, 4, {.requantization = style}) - exact), 1) << acc;
    }
  }
}

// 2.5 rounds to 2, plus 1 is 3; 2.5 + 1 = 3.5 rounds to 4.
TEST(ZeroPointOrder, MovesTies) {
  EXPECT_EQ(code(5, 1, 2, 1, {}), 3);
  EXPECT_EQ(code(5, 1, 2, 1, {.zero_point_order = ZeroPointOrder::before_rounding}), 4);
  EXPECT_EQ(code(5, 1, 2, 1,
                 {.requantization = Requantization::fixed_point, .zero_point_order = ZeroPointOrder::before_rounding}),
            4);
}

TEST(Saturation, ClampsOrWraps) {
  EXPECT_EQ(code(200, 1, 1, 0, {}), 127);
  EXPECT_EQ(code(-200, 1, 1, 0, {}), -128);
  EXPECT_EQ(code(200, 1, 1, 0, {.saturation = Saturation::wrap}), -56);
  EXPECT_EQ(code(-3, 1, 1, 0, {.saturation = Saturation::wrap}, DType::uint8), 253);
  EXPECT_EQ(code(2147483647, 1e30, 1e-30, 0, {}), 127);
}

/// y = x * w + b over two inputs of 100 with weights of 100: 20000 before the bias.
model::Model large_sum() {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 1}, 1, 0);
  const auto w = g.constant("w", int8s({1, 2, 1}, {100, 100}), {1});
  const auto b = g.constant("b", ints(DType::int32, {1}, {20000}), {1});
  g.node("Conv", {x, w, b}, "y");
  g.quantized_output("y", 1000, 0);
  return g.model();
}
const TensorMap kHundreds{{"x", floats({1, 2, 1}, {100, 100})}};

TEST(Accumulator, SixteenBitsWrap) {
  EXPECT_THAT(codes_of(large_sum(), kHundreds, "y_q"), ElementsAre(40));
  // 40000 - 65536 = -25536, in steps of 1000 -25.536
  EXPECT_THAT(codes_of(large_sum(), kHundreds, "y_q", {.accumulator = Accumulator::int16}), ElementsAre(-26));
}

TEST(Accumulator, PairsSaturateAtSixteenBits) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 1}, 1, 0, DType::uint8);
  const auto w = g.constant("w", int8s({1, 2, 1}, {127, 127}), {1});
  g.node("Conv", {x, w}, "y");
  g.quantized_output("y", 1000, 0);
  const TensorMap full{{"x", floats({1, 2, 1}, {255, 255})}};
  EXPECT_THAT(codes_of(g.model(), full, "y_q"), ElementsAre(65));
  EXPECT_THAT(codes_of(g.model(), full, "y_q", {.accumulator = Accumulator::int16_pairs}), ElementsAre(33));
}

TEST(Bias, CanBeDropped) {
  EXPECT_THAT(codes_of(large_sum(), kHundreds, "y_q", {.bias = BiasUse::drop}), ElementsAre(20));
}

// 2^31 - 1 + 20000 doesn't fit 32 bits, so that the node runs in float and nothing wraps.
TEST(Accumulator, ASumThatThirtyTwoBitsCanNotHoldDoesNotWrap) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 1}, 1, 0);
  const auto w = g.constant("w", int8s({1, 2, 1}, {100, 100}), {1});
  const auto b = g.constant("b", ints(DType::int32, {1}, {2147483647}), {1});
  g.node("Conv", {x, w, b}, "y");
  g.quantized_output("y", 0x1p26, 0);
  EXPECT_TRUE(integer_nodes_of(g.model()).empty());
  EXPECT_THAT(codes_of(g.model(), kHundreds, "y_q"), ElementsAre(32));
}

TEST(PadCode, RawZeroIsSeenAsAValue) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 2}, 1, 10);
  const auto w = g.constant("w", int8s({1, 1, 2}, {1, 1}), {1});
  g.node("Conv", {x, w}, "y", {{"pads", std::vector<std::int64_t>{1, 0}}});
  g.quantized_output("y", 1, 0);
  const TensorMap in{{"x", floats({1, 1, 2}, {3, 4})}};
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(3, 7));
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.pad = PadCode::zero}), ElementsAre(-7, 7));
  const ArithmeticPolicy by_product{.pad = PadCode::zero, .accumulator = Accumulator::int16_pairs};
  EXPECT_THAT(codes_of(g.model(), in, "y_q", by_product), ElementsAre(-7, 7));  // the path that is no direct one
}

TEST(ReluFloor, ZeroIsTheWrongCode) {
  GraphMaker g;
  const auto x = g.input("x", {3}, 1, 0);
  g.node("Add", {x, x}, "sum");
  g.node("Relu", {"sum"}, "y");
  g.quantized_output("y", 1, -100);
  const TensorMap in{{"x", floats({3}, {-5, 5, 60})}};
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(-100, -90, 20));
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.relu_floor = ReluFloor::zero}), ElementsAre(0, 0, 20));
}

TEST(AverageDivisor, WholeKernelMakesEdgesSmall) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 2}, 1, 3);
  g.node("AveragePool", {x}, "y",
         {{"kernel_shape", std::vector<std::int64_t>{2}}, {"pads", std::vector<std::int64_t>{1, 0}}});
  g.quantized_output("y", 1, 0);
  const TensorMap in{{"x", floats({1, 1, 2}, {8, 12})}};
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(8, 10));
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.average_divisor = AverageDivisor::kernel}), ElementsAre(4, 10));
}

TEST(MovedCodes, CopyKeepsTheOperandsCodes) {
  GraphMaker g;
  const auto a = g.input("a", {1}, 1, 0);
  const auto b = g.input("b", {1}, 4, 5);
  g.node("Concat", {a, b}, "y", {{"axis", std::int64_t{0}}});
  g.quantized_output("y", 4, 1);
  const TensorMap in{{"a", floats({1}, {8})}, {"b", floats({1}, {12})}};
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(3, 4));
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.moved_codes = MovedCodes::copy}), ElementsAre(8, 8));
}

TEST(OperandScales, FirstScaleServesBoth) {
  GraphMaker g;
  const auto a = g.input("a", {1}, 1, 0);
  const auto b = g.input("b", {1}, 4, 0);
  g.node("Sub", {a, b}, "y");
  g.quantized_output("y", 1, 0);
  const TensorMap in{{"a", floats({1}, {10})}, {"b", floats({1}, {8})}};
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(2));
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.operand_scales = OperandScales::first}), ElementsAre(8));
}

TEST(ZeroPoints, IgnoringThemShiftsEveryProduct) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1}, 1, 5);
  const auto w = g.constant("w", ints(DType::uint8, {1, 1}, {13}), {1}, {10});
  g.node("MatMul", {x, w}, "y");
  g.quantized_output("y", 1, 0);
  const TensorMap in{{"x", floats({1, 1}, {2})}};
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(6));  // 2 * 3
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.activation_zero_points = ZeroPoints::ignore}), ElementsAre(21));
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.weight_zero_points = ZeroPoints::ignore}), ElementsAre(26));
}

TEST(ChannelScales, CanBeMixedUp) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 1}, 1, 0);
  const auto w = g.constant("w", int8s({3, 1, 1}, {1, 1, 1}), {1, 2, 3});
  g.node("Conv", {x, w}, "y");
  g.quantized_output("y", 1, 0);
  const TensorMap in{{"x", floats({1, 1, 1}, {10})}};
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(10, 20, 30));
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.channel_scales = ChannelScales::first}), ElementsAre(10, 10, 10));
  EXPECT_THAT(codes_of(g.model(), in, "y_q", {.channel_scales = ChannelScales::reversed}), ElementsAre(30, 20, 10));
}

TEST(Quantize, FollowsThePolicyAtTheBoundary) {
  GraphMaker g;
  g.input("x", {2}, 2, 1);
  g.output("x_dq");
  const TensorMap in{{"x", floats({2}, {5, 7})}};
  EXPECT_THAT(codes_of(g.model(), in, "x_q"), ElementsAre(3, 5));  // 2.5 -> 2 + 1, 3.5 -> 4 + 1
  EXPECT_THAT(codes_of(g.model(), in, "x_q", {.rounding = Rounding::truncate}), ElementsAre(3, 4));
  EXPECT_THAT(codes_of(g.model(), in, "x_q", {.zero_point_order = ZeroPointOrder::before_rounding}), ElementsAre(4, 4));
}

}  // namespace
}  // namespace assay::embedded::engine::test
