// Scales that are rounded to a type of their own, and quantized constants that are moved before they are read.
#include <gtest/gtest.h>

#include "harness/judge/artifact/decompressed.hpp"
#include "harness/judge/artifact/moved_constants.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "reference/executor.hpp"
#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using testing::parse;
using testing::reals;
using testing::Tensor;

core::QuantParams stored_as(DType type, double step) {
  core::QuantParams params;
  params.type = DType::float4e2m1;
  params.scale_type = type;
  params.scale_step = {step};
  return params;
}

TEST(StoredScales, PlainOnesStay) {
  const StoredScales plain = stored_scales({}, 0.3, 127, 0);
  EXPECT_EQ(plain.least, 0.3);
  EXPECT_EQ(plain.usual, 0.3);
  EXPECT_EQ(plain.most, 0.3);
}

TEST(StoredScales, APowerOfTwoIsTheLargestValuesOrTheNextAboveTheExactOne) {
  const core::QuantParams params = stored_as(DType::float8e8m0, 1);
  // max|w| 2.7: 2^1 / 4, and 2.7 / 6 = 0.45 is cut off nowhere under it. vLLM's pull request 43557 had 0.25 of it.
  const StoredScales low = stored_scales(params, 2.7 / 6, 6, 0);
  EXPECT_EQ(low.least, 0.5);
  EXPECT_EQ(low.most, 0.5);
  // max|w| 3.5: 2^1 / 4 again, which cuts it off at 3; one power more doesn't.
  const StoredScales high = stored_scales(params, 3.5 / 6, 6, 0);
  EXPECT_EQ(high.least, 0.5);
  EXPECT_EQ(high.usual, 0.5);
  EXPECT_EQ(high.most, 1);
}

TEST(StoredScales, ACodeIsTheNearestAndNeverZero) {
  const core::QuantParams params = stored_as(DType::float8e4m3fn, 0.01);
  const StoredScales near = stored_scales(params, 0.17, 6, 0);  // 17 lies between 16 and 18
  EXPECT_EQ(near.usual, 0.16);
  EXPECT_NEAR(near.least, 0.16, 1e-6);
  EXPECT_NEAR(near.most, 0.18, 1e-6);
  const StoredScales least = stored_scales(params, 1e-9, 6, 0);
  EXPECT_EQ(least.usual, 0x1p-9 * 0.01);
  EXPECT_EQ(least.most, least.usual);
}

class MovedConstants : public ::testing::Test {
 protected:
  static std::shared_ptr<const model::Model> artifact(const std::string& text) {
    model::Model model = parse(text, {{"q", codes(DType::int8, {2, 4}, {1, -2, 3, 4, -5, 6, 70, -80})},
                                      {"w", reals({2, 4}, {1, -2, 3, 4, -5, 6, 7, -8})},
                                      {"s", reals({2}, {0.5, 0.25})},
                                      {"z", codes(DType::int8, {2}, {0, 0})},
                                      {"one", Tensor::scalar(DType::float32, 0.5)},
                                      {"bs", reals({2, 2}, {0.5, 0.25, 1, 2})},
                                      {"bc", codes(DType::int8, {2, 2}, {3, 4, 5, 6})},
                                      {"shape", codes(DType::int64, {2}, {4, 2})},
                                      {"one_more", codes(DType::int64, {3}, {2, 1, 4})},
                                      {"s4", reals({4}, {0.5, 0.25, 1, 2})},
                                      {"from", codes(DType::int64, {1}, {1})},
                                      {"to", codes(DType::int64, {1}, {3})},
                                      {"rows", codes(DType::int64, {1}, {0})},
                                      {"longer", codes(DType::int64, {2}, {8, 1})},
                                      {"back", codes(DType::int64, {2}, {2, 4})}});
    model.opsets = {{"", 21}};
    return std::make_shared<const model::Model>(std::move(model));
  }

  /// Nothing but a DequantizeLinear, after a QuantizeLinear where there was one, makes what `text` moves, and the
  /// values stay.
  static void expect_moved(const std::string& text, std::size_t left) {
    const auto given = artifact(text);
    const auto moved = with_moved_constants(given);
    ASSERT_NE(moved, given) << text;
    EXPECT_EQ(moved->graph.nodes.size(), left) << text;
    for (const model::Node& node : moved->graph.nodes) {
      EXPECT_NE(node.op_type, "Transpose") << text;
      EXPECT_NE(node.op_type, "Reshape") << text;
      EXPECT_NE(node.op_type, "Slice") << text;
      EXPECT_NE(node.op_type, "Split") << text;
      EXPECT_NE(node.op_type, "Concat") << text;
    }
    const std::map<std::string, Tensor> inputs{{"x", reals({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}};
    const auto before = reference::execute(*given, inputs), after = reference::execute(*moved, inputs);
    ASSERT_TRUE(before && after) << text << (after ? "" : after.error().message);
    EXPECT_EQ(before->at("y").to_reals(), after->at("y").to_reals()) << text;
  }
};

TEST_F(MovedConstants, AreReadAsTheyAreMultiplied) {
  const std::string head = "g (float[3,4] x) => (float[3,2] y) { ",
                    tail = "t = Transpose <perm=[1,0]> (d) y = MatMul (x, t) }";
  expect_moved(head + "d = DequantizeLinear <axis=0> (q, s, z) " + tail, 2);
  expect_moved(head + "d = DequantizeLinear <axis=-2> (q, s) " + tail, 2);
  expect_moved(head + "d = DequantizeLinear (q, one) " + tail, 2);
  expect_moved(head + "d = DequantizeLinear <axis=1, block_size=2> (q, bs) " + tail, 2);
  expect_moved(head + "c = QuantizeLinear <axis=0> (w, s, z) d = DequantizeLinear <axis=0> (c, s, z) " + tail, 3);
  expect_moved(head + "d = DequantizeLinear (q, one) t = Reshape (d, shape) y = MatMul (x, t) }", 2);
}

TEST_F(MovedConstants, AreMovedSeveralTimes) {
  const std::string tail = "u = Reshape (v, back) t = Transpose <perm=[1,0]> (u) y = MatMul (x, t) }";
  const std::string head = "g (float[3,4] x) => (float[3,2] y) { d = DequantizeLinear <axis=0> (q, s, z) ";
  expect_moved(head + "v = Reshape (d, one_more) " + tail, 2);
  expect_moved(head + "p = Transpose <perm=[1,0]> (d) v = Transpose (p) " + tail, 2);
}

TEST_F(MovedConstants, TakeTheCodesOfTheirScalesAlong) {
  const std::string text =
      "g (float[3,4] x) => (float[3,2] y) { b = DequantizeLinear (bc, one) d = DequantizeLinear <axis=1, block_size=2> "
      "(q, b) t = Transpose (d) y = MatMul (x, t) }";
  expect_moved(text, 3);
}

TEST_F(MovedConstants, StayWhereSomebodyElseReadsThemAsTheyAre) {
  const auto moved = with_moved_constants(artifact(
      "g (float[3,4] x) => (float[3,2] y, float[2,4] v) { d = DequantizeLinear <axis=0> (q, s, z) t = Transpose "
      "<perm=[1,0]> (d) y = MatMul (x, t) v = Relu (d) }"));
  EXPECT_EQ(moved->graph.nodes.size(), 4U);
}

TEST_F(MovedConstants, MayBeAPartOrSeveralInOne) {
  const std::string head = "g (float[3,4] x) => (float[3,2] y) { ",
                    per_row = "d = DequantizeLinear <axis=0> (q, s, z) ";
  const std::string tail = "t = Transpose (w2) y = MatMul (x, t) }";
  // One row of each of two weights, each with its own scale.
  expect_moved(
      head + per_row +
          "e = DequantizeLinear <axis=1> (q, s4) a = Slice (d, rows, from, rows) b = Slice (e, from, to, rows) "
          "w2 = Concat <axis=0> (a, a) " +
          tail,
      2 + 1);
  expect_moved(head +
                   "a = DequantizeLinear (q, one) b = DequantizeLinear <axis=1> (q, s4) p, u = Split "
                   "<axis=0, num_outputs=2> (a) v = Slice (a, from, to, rows) w2 = Concat <axis=0> (p, v) " +
                   tail,
               2 + 2);
}

TEST_F(MovedConstants, OfRowsThatAReshapeJoinsHaveBlocks) {
  expect_moved(
      "g (float[3,4] x) => (float[3,2] y) { d = DequantizeLinear <axis=0> (q, s, z) t = Reshape (d, shape) "
      "y = MatMul (x, t) }",
      2);
}

TEST_F(MovedConstants, WhoseChannelsAReshapeMixesStay) {
  const auto given = artifact(
      "g (float[3,4] x) => (float[3,2] y) { d = DequantizeLinear <axis=1> (q, s4) t = Reshape (d, shape) y = MatMul "
      "(x, t) }");
  const auto moved = with_moved_constants(given);
  EXPECT_EQ(moved->graph.nodes.size(), given->graph.nodes.size());
  EXPECT_EQ(moved->graph.nodes[1].op_type, "Reshape");
}

/// What other converters write in place of DequantizeLinear gives the same values.
TEST(DecompressedConstants, AreReadAsDequantized) {
  const auto artifact = [](const std::string& weight) {
    model::Model model =
        parse("g (float[3,4] x) => (float[3,2] y) { c = Cast<to=1>(q) " + weight + " y = MatMul(x, w) }",
              {{"q", codes(DType::uint8, {4, 2}, {1, 2, 3, 4, 5, 6, 70, 80})},
               {"one", Tensor::scalar(DType::float32, 0.5)},
               {"row", reals({1, 2}, {0.5, 0.25})},
               {"column", reals({4, 1}, {0.5, 0.25, 1, 2})},
               {"z", codes(DType::uint8, {1, 2}, {3, 1})},
               {"half", Tensor::scalar(DType::float32, 7.5)}});
    return std::make_shared<const model::Model>(std::move(model));
  };
  const std::map<std::string, Tensor> inputs{{"x", reals({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}};
  for (const char* weight : {"w = Mul(c, one)", "w = Mul(row, c)", "w = Mul(c, column)",
                             "zc = Cast<to=1>(z) s = Sub(c, zc) w = Mul(s, row)"}) {
    const auto given = artifact(weight), read = with_decompressed_constants(given);
    EXPECT_EQ(std::ranges::count(read->graph.nodes, "DequantizeLinear", &model::Node::op_type), 1) << weight;
    EXPECT_EQ(std::ranges::count(read->graph.nodes, "Mul", &model::Node::op_type), 0) << weight;
    const auto before = reference::execute(*given, inputs), after = reference::execute(*read, inputs);
    ASSERT_TRUE(before && after) << weight << (after ? "" : after.error().message);
    EXPECT_EQ(before->at("y").to_reals(), after->at("y").to_reals()) << weight;
  }
  const auto between_codes = artifact("s = Sub(c, half) w = Mul(s, row)");
  EXPECT_EQ(with_decompressed_constants(between_codes), between_codes) << "a zero point that is no code";
}

}  // namespace
}  // namespace assay::judge
