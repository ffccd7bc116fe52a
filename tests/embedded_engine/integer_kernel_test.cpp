// Hand-worked numbers for every integer kernel.
#include <gmock/gmock.h>

#include "tests/embedded_engine/graphs.hpp"

namespace assay::embedded::engine::test {
namespace {

using testing::ElementsAre;

// x = {1, 2, 3} at scale 0.5, zero_point 1: codes 3, 5, 7. w = {2, -1} codes at scale 0.25.
// acc: 2*2 - 1*4 = 0, 2*4 - 1*6 = 2; y = acc * 0.125; at scale 0.125 codes 0 and 2.
TEST(IntegerConv, SumsCentredCodes) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 3}, 0.5, 1);
  const auto w = g.constant("w", int8s({1, 1, 2}, {2, -1}), {0.25});
  g.node("Conv", {x, w}, "y");
  g.quantized_output("y", 0.125, 0);
  const TensorMap in{{"x", floats({1, 1, 3}, {1, 2, 3})}};
  EXPECT_THAT(codes_of(g.model(), in, "x_q"), ElementsAre(3, 5, 7));
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(0, 2));
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
}

// Two channels of input and output at scale 1: y0 = x0 + 2*x1 + 3 (bias code 3 at scale 1), y1 = -x0 + x1 - 1.
TEST(IntegerConv, AddsBiasPerChannel) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 1, 2}, 1, 0);
  const auto w = g.constant("w", int8s({2, 2, 1, 1}, {1, 2, -1, 1}), {1});
  const auto b = g.constant("b", ints(DType::int32, {2}, {3, -1}), {1});
  g.node("Conv", {x, w, b}, "y");
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 2, 1, 2}, {1, 2, 10, 20})}}, "y_q"), ElementsAre(24, 45, 8, 17));
}

// Depthwise with one scale per output channel: channel 0 at 0.5, channel 1 at 2; y = x * w_code * scale.
TEST(IntegerConv, DepthwiseUsesEachChannelsScale) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 1, 1}, 1, 0);
  const auto w = g.constant("w", int8s({2, 1, 1, 1}, {4, 4}), {0.5, 2});
  g.node("Conv", {x, w}, "y", {{"group", std::int64_t{2}}});
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 2, 1, 1}, {3, 5})}}, "y_q"), ElementsAre(6, 40));
}

// Padding holds real zero, whose code is the zero_point: with all-ones weights the edge sums fewer values.
TEST(IntegerConv, PaddedPositionsAreRealZero) {
  for (const std::int64_t group : {1, 2}) {
    GraphMaker g;
    const auto x = g.input("x", {1, 2, 3}, 1, -7);
    const auto w =
        g.constant("w", int8s({2, 2 / group, 3}, std::vector<std::int64_t>(std::size_t(12 / group), 1)), {1});
    g.node("Conv", {x, w}, "y", {{"group", group}, {"pads", std::vector<std::int64_t>{1, 1}}});
    g.quantized_output("y", 1, 0);
    const auto codes = codes_of(g.model(), {{"x", floats({1, 2, 3}, {1, 2, 3, 10, 20, 30})}}, "y_q");
    if (group == 2) {
      EXPECT_THAT(codes, ElementsAre(3, 6, 5, 30, 60, 50));
    } else {
      EXPECT_THAT(codes, ElementsAre(33, 66, 55, 33, 66, 55));
    }
  }
}

// Stride 2, one input {1, 2}, weights {1, 10, 100}: 1 10 100+2 20 200.
TEST(IntegerConvTranspose, ScattersProducts) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 2}, 1, 3);
  const auto w = g.constant("w", int8s({1, 1, 3}, {1, 10, 100}), {1});
  g.node("ConvTranspose", {x, w}, "y", {{"strides", std::vector<std::int64_t>{2}}});
  g.quantized_output("y", 2, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 1, 2}, {1, 2})}}, "y_q"), ElementsAre(0, 5, 51, 10, 100));
}

// Axis 1 of a grouped ConvTranspose weight has out/groups scales; scale j serves channel j of either group.
TEST(IntegerConvTranspose, OneScalePerChannelOfEveryGroup) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 1}, 1, 0);
  const auto w = g.constant("w", int8s({2, 2, 1}, {1, 1, 1, 1}), {1, 3}, {}, 1);
  g.node("ConvTranspose", {x, w}, "y", {{"group", std::int64_t{2}}});
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 2, 1}, {5, 7})}}, "y_q"), ElementsAre(5, 15, 7, 21));
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
}

// Axis 0 is the input channel: no output has one scale, so the node runs in float, with that axis honoured.
TEST(IntegerConvTranspose, InputChannelScalesRunInFloat) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 1}, 1, 0);
  const auto w = g.constant("w", int8s({2, 1, 1}, {1, 1}), {1, 3}, {}, 0);
  g.node("ConvTranspose", {x, w}, "y");
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 2, 1}, {5, 7})}}, "y_q"), ElementsAre(26));
  EXPECT_TRUE(integer_nodes_of(g.model()).empty());
}

// A = {1 2}, B = {{1, 3}, {2, 4}} at scales 1 and 10: {5, 11 * 10}; alpha 2, C = {1, 10} as codes.
TEST(IntegerGemm, ScalesPerColumn) {
  GraphMaker g;
  const auto a = g.input("a", {1, 2}, 1, 5);
  const auto b = g.constant("b", int8s({2, 2}, {1, 3, 2, 4}), {1, 10}, {}, 1);
  g.node("Gemm", {a, b}, "y");
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"a", floats({1, 2}, {1, 2})}}, "y_q"), ElementsAre(5, 110));
}

TEST(IntegerGemm, AlphaBetaAndTransposedWeight) {
  GraphMaker g;
  const auto a = g.input("a", {1, 2}, 1, 0);
  const auto b = g.constant("b", int8s({2, 2}, {1, 2, 3, 4}), {1, 10}, {}, 0);
  const auto c = g.constant("c", ints(DType::int32, {2}, {4, 6}), {1});
  g.node("Gemm", {a, b, c}, "y", {{"transB", std::int64_t{1}}, {"alpha", 0.5}, {"beta", 2.0}});
  g.quantized_output("y", 1, 0);
  // 0.5 * {5, 11 * 10} + 2 * {4, 6}
  EXPECT_THAT(codes_of(g.model(), {{"a", floats({1, 2}, {1, 2})}}, "y_q"), ElementsAre(10, 67));
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
}

TEST(IntegerMatMul, TwoActivationsBatched) {
  GraphMaker g;
  const auto a = g.input("a", {2, 1, 2}, 0.5, 1);
  const auto b = g.input("b", {2, 2, 1}, 2, -3);
  g.node("MatMul", {a, b}, "y");
  g.quantized_output("y", 1, 0);
  const TensorMap in{{"a", floats({2, 1, 2}, {1, 2, 3, 4})}, {"b", floats({2, 2, 1}, {2, 4, 6, 8})}};
  EXPECT_THAT(codes_of(g.model(), in, "y_q"), ElementsAre(10, 50));
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
}

TEST(IntegerMatMul, WeightOnTheLeftHasScalesPerRow) {
  GraphMaker g;
  const auto w = g.constant("w", int8s({2, 2}, {1, 2, 3, 4}), {1, 10}, {}, 0);
  const auto x = g.input("x", {2, 1}, 1, 4);
  g.node("MatMul", {w, x}, "y");
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({2, 1}, {1, 2})}}, "y_q"), ElementsAre(5, 110));
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
}

// a = {2, 4} at 0.5, b = {10, 30} at 10: sums 12 and 34, in steps of 4: 3 and 8.5, which ties to 8.
TEST(IntegerAdd, BringsBothOperandsToTheOutput) {
  GraphMaker g;
  const auto a = g.input("a", {2}, 0.5, 1);
  const auto b = g.input("b", {2}, 10, -1);
  g.node("Add", {a, b}, "y");
  g.quantized_output("y", 4, 3);
  EXPECT_THAT(codes_of(g.model(), {{"a", floats({2}, {2, 4})}, {"b", floats({2}, {10, 30})}}, "y_q"),
              ElementsAre(6, 11));
}

TEST(IntegerSub, BroadcastsAConstant) {
  GraphMaker g;
  const auto a = g.input("a", {2, 2}, 1, 0);
  const auto b = g.constant("b", int8s({2}, {1, 2}), {10});
  g.node("Sub", {a, b}, "y");
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"a", floats({2, 2}, {1, 2, 3, 4})}}, "y_q"), ElementsAre(-9, -18, -7, -16));
}

TEST(IntegerMul, MultipliesScales) {
  GraphMaker g;
  const auto a = g.input("a", {2}, 0.5, 1);
  const auto b = g.input("b", {2}, 2, 2);
  g.node("Mul", {a, b}, "y");
  g.quantized_output("y", 4, 0, DType::uint8);
  EXPECT_THAT(codes_of(g.model(), {{"a", floats({2}, {3, 5})}, {"b", floats({2}, {8, -4})}}, "y_q"), ElementsAre(6, 0));
}

// Branches at scales 1 and 4 in an output of scale 4: 8 / 4 and 12 / 4.
TEST(IntegerConcat, RequantizesEveryBranch) {
  GraphMaker g;
  const auto a = g.input("a", {1}, 1, 0);
  const auto b = g.input("b", {1}, 4, 5);
  g.node("Concat", {a, b, a}, "y", {{"axis", std::int64_t{0}}});
  g.quantized_output("y", 4, 1);
  EXPECT_THAT(codes_of(g.model(), {{"a", floats({1}, {8})}, {"b", floats({1}, {12})}}, "y_q"), ElementsAre(3, 4, 3));
}

TEST(IntegerMaxPool, ComparesCodesAndRequantizes) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 4}, 1, 100);
  g.node("MaxPool", {x}, "y",
         {{"kernel_shape", std::vector<std::int64_t>{2}}, {"pads", std::vector<std::int64_t>{1, 1}}});
  g.quantized_output("y", 2, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 1, 4}, {-8, -6, -20, -10})}}, "y_q"),
              ElementsAre(-4, -3, -3, -5, -5));
}

// Windows of 2 over {4, 8, 12} with one padded position on either side.
TEST(IntegerAveragePool, CountsPaddingOnlyWhereAsked) {
  for (const std::int64_t counts : {0, 1}) {
    GraphMaker g;
    const auto x = g.input("x", {1, 1, 3}, 1, 9);
    g.node("AveragePool", {x}, "y",
           {{"kernel_shape", std::vector<std::int64_t>{2}},
            {"pads", std::vector<std::int64_t>{1, 1}},
            {"count_include_pad", counts}});
    g.quantized_output("y", 1, 0);
    const auto codes = codes_of(g.model(), {{"x", floats({1, 1, 3}, {4, 8, 12})}}, "y_q");
    if (counts == 1) {
      EXPECT_THAT(codes, ElementsAre(2, 6, 10, 6));
    } else {
      EXPECT_THAT(codes, ElementsAre(4, 6, 10, 12));
    }
  }
}

TEST(IntegerReduceMean, AveragesOverAxes) {
  GraphMaker g;
  const auto x = g.input("x", {2, 2}, 0.5, 3);
  g.node("ReduceMean", {x}, "y", {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{0}}});
  g.quantized_output("y", 0.25, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({2, 2}, {1, 2, 3, 5})}}, "y_q"), ElementsAre(6, 16));
}

TEST(IntegerTable, SigmoidOfEveryCodeIsRoundedOnce) {
  GraphMaker g;
  const auto x = g.input("x", {3}, 1, 0);
  g.node("Sigmoid", {x}, "y");
  g.quantized_output("y", 1.0 / 256, -128);
  // 0.5 is 128 steps; sigmoid(1) = 0.731059 is 187.15; sigmoid(-2) = 0.119203 is 30.5 (30.516).
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({3}, {0, 1, -2})}}, "y_q"), ElementsAre(0, 59, -97));
}

TEST(IntegerTable, BatchNormalizationHasATablePerChannel) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 1}, 1, 0);
  g.initializer("gamma", floats({2}, {2, -4}));
  g.initializer("beta", floats({2}, {1, 0}));
  g.initializer("mean", floats({2}, {3, 0}));
  g.initializer("variance", floats({2}, {4, 1}));
  g.node("BatchNormalization", {x, "gamma", "beta", "mean", "variance"}, "y", {{"epsilon", 0.0}});
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 2, 1}, {5, 6})}}, "y_q"), ElementsAre(3, -24));
}

TEST(IntegerTable, PReluTakesTheSlopeOfTheChannel) {
  GraphMaker g;
  const auto x = g.input("x", {1, 2, 2}, 1, 0);
  const auto slope = g.constant("slope", int8s({2, 1}, {1, 3}), {0.5});
  g.node("PRelu", {x, slope}, "y");
  g.quantized_output("y", 0.5, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 2, 2}, {-4, 4, -4, 4})}}, "y_q"), ElementsAre(-4, 8, -12, 8));
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("y"));
}

// Two equal logits: one half each.
TEST(IntegerSoftmax, RowsSumToOne) {
  GraphMaker g;
  const auto x = g.input("x", {1, 3}, 1, 0);
  g.node("Softmax", {x}, "y");
  g.quantized_output("y", 1.0 / 256, -128);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 3}, {20, -100, 20})}}, "y_q"), ElementsAre(0, -128, 0));
}

TEST(IntegerRelu, CutsAtTheZeroPoint) {
  GraphMaker g;
  const auto x = g.input("x", {3}, 1, 10);
  g.node("Relu", {x}, "y");
  g.quantized_output("y", 1, -5);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({3}, {-4, 0, 4})}}, "y_q"), ElementsAre(-5, -5, -1));
}

TEST(IntegerClip, FusesIntoTheProducer) {
  GraphMaker g;
  const auto a = g.input("a", {4}, 1, 0);
  g.initializer("low", floats({}, {0}));
  g.initializer("high", floats({}, {6}));
  g.node("Add", {a, a}, "sum");
  g.node("Clip", {"sum", "low", "high"}, "y");
  g.quantized_output("y", 0.1, -10);
  EXPECT_THAT(codes_of(g.model(), {{"a", floats({4}, {-2, 1, 3, 9})}}, "y_q"), ElementsAre(-10, 10, 50, 50));
  EXPECT_THAT(integer_nodes_of(g.model()), ElementsAre("sum", "y"));
}

TEST(IntegerLayout, CodesMoveUnchangedUnderEqualParameters) {
  GraphMaker g;
  const auto x = g.input("x", {2, 3}, 0.5, 7);
  g.node("Transpose", {x}, "y");
  g.quantized_output("y", 0.5, 7);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({2, 3}, {0, 1, 2, 3, 4, 5})}}, "y_q"),
              ElementsAre(7, 13, 9, 15, 11, 17));
}

TEST(IntegerPad, FillsWithTheCodeOfTheValue) {
  GraphMaker g;
  const auto x = g.input("x", {2}, 1, 4);
  g.initializer("pads", int64s({2}, {1, 1}));
  g.initializer("value", floats({}, {3}));
  g.node("Pad", {x, "pads", "value"}, "y");
  g.quantized_output("y", 0.5, -1);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({2}, {1, 2})}}, "y_q"), ElementsAre(5, 1, 3, 5));
}

TEST(IntegerPad, RepeatsTheEdgesOfAnEmptyBatch) {
  GraphMaker g;
  const auto x = g.input("x", {0, 2}, 1, 4);
  g.initializer("pads", int64s({4}, {0, 1, 0, 1}));
  g.node("Pad", {x, "pads"}, "y", {{"mode", std::string("edge")}});
  g.quantized_output("y", 0.5, -1);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({0, 2}, {})}}, "y_q"), ElementsAre());
}

TEST(IntegerResize, LinearWeighsCodes) {
  GraphMaker g;
  const auto x = g.input("x", {1, 1, 2}, 1, 3);
  g.initializer("scales", floats({3}, {1, 1, 2}));
  g.node("Resize", {x, "", "scales"}, "y", {{"mode", std::string("linear")}});
  g.quantized_output("y", 0.5, 0);
  // half_pixel: 0, 2.5, 7.5, 10
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({1, 1, 2}, {0, 10})}}, "y_q"), ElementsAre(0, 5, 15, 20));
}

TEST(IntegerResize, AnEmptyBatchStaysEmpty) {
  GraphMaker g;
  const auto x = g.input("x", {0, 1, 2}, 1, 3);
  g.initializer("scales", floats({3}, {1, 1, 2}));
  g.node("Resize", {x, "", "scales"}, "y", {{"mode", std::string("linear")}});
  g.quantized_output("y", 0.5, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({0, 1, 2}, {})}}, "y_q"), ElementsAre());
}

TEST(IntegerResize, ASizeThatIsAskedForIsExact) {
  // 15 of 11: position 7 lies at 7 * 10 / 14 = 5, though 15 / 11 * 11 isn't 15.
  GraphMaker g;
  const auto x = g.input("x", {11}, 1, 0);
  g.initializer("sizes", int64s({1}, {15}));
  g.node("Resize", {x, "", "", "sizes"}, "y",
         {{"coordinate_transformation_mode", std::string("align_corners")}, {"nearest_mode", std::string("ceil")}});
  g.quantized_output("y", 1, 0);
  EXPECT_THAT(codes_of(g.model(), {{"x", floats({11}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}}, "y_q"),
              ElementsAre(0, 1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 10));
}

TEST(IntegerSplit, EachPartHasItsOwnParameters) {
  GraphMaker g;
  const auto x = g.input("x", {4}, 1, 0);
  auto& split = g.node("Split", {x}, "left", {{"axis", std::int64_t{0}}});
  split.outputs.emplace_back("right");
  g.quantized_output("left", 1, 0);
  g.quantized_output("right", 2, 1);
  const auto trace = codes_of(g.model(), {{"x", floats({4}, {2, 4, 6, 8})}});
  EXPECT_THAT(trace.at("left_q").to_integers(), ElementsAre(2, 4));
  EXPECT_THAT(trace.at("right_q").to_integers(), ElementsAre(4, 5));
}

}  // namespace
}  // namespace assay::embedded::engine::test
