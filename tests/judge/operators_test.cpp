#include "harness/judge/evidence/operators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "converters/embedded/support.hpp"
#include "reference/executor.hpp"
#include "reference/op.hpp"

namespace assay::judge {
namespace {

using model::Node;

Node node_of(std::string op) {
  Node node;
  node.name = op;
  model::set_operator(node, op);
  node.inputs = {"x", "w", ""};
  node.outputs = {"y"};
  return node;
}

TEST(Operators, TableIsSortedAndHasNoOperatorTwice) {
  const auto table = operator_table();
  ASSERT_FALSE(table.empty());
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].op, table[i].op);
}

TEST(Operators, UnknownOperatorHasNoProperty) {
  const OperatorTraits& traits = traits_of("NoSuchOperator");
  EXPECT_EQ(traits.op, "");
  EXPECT_EQ(traits.movement, Movement::none);
  EXPECT_EQ(traits.enclosing, Enclosing::unknown);
  EXPECT_EQ(data_input_count("NoSuchOperator", 3), 3U);
  EXPECT_FALSE(stays_in_range(traits));
}

TEST(Operators, SameNameInAnotherDomainHasNoProperty) {
  Node node = node_of("Reshape");
  EXPECT_TRUE(only_moves(node));
  node.domain = "com.example";
  EXPECT_FALSE(only_moves(node));
  EXPECT_EQ(traits_of(node).op, "");
  EXPECT_EQ(data_input_count(node), 3U);
}

TEST(Operators, OperatorOfAnotherDomainHasTheRowOfItsWholeName) {
  EXPECT_EQ(traits_of(node_of("com.microsoft.QuickGelu")).enclosing, Enclosing::soft_turning);
  EXPECT_EQ(traits_of(node_of("QuickGelu")).enclosing, Enclosing::unknown);
  EXPECT_NE(&traits_of(node_of("com.microsoft.Gelu")), &traits_of(node_of("Gelu")));
}

/// The converter's own list and the judge's were written apart: neither may move what the other computes.
TEST(Operators, MovesWhatTheEmbeddedConverterMoves) {
  std::size_t moving = 0;
  for (const embedded::Support& row : embedded::support_table()) {
    if (row.handling == embedded::Handling::moves) {
      ++moving;
      EXPECT_TRUE(only_moves(node_of(std::string(row.op)))) << row.op;
    } else {
      EXPECT_FALSE(only_moves(node_of(std::string(row.op)))) << row.op;
    }
    const bool multiplies = row.handling == embedded::Handling::multiplies;
    EXPECT_EQ(sums_products(row.op), multiplies) << row.op;
  }
  EXPECT_GE(moving, 15U);
}

TEST(Operators, EveryOperatorThatTheEmbeddedConverterQuantizesHasARow) {
  for (const embedded::Support& row : embedded::support_table()) EXPECT_EQ(traits_of(row.op).op, row.op);
}

TEST(Operators, ResizeMovesInModeNearestAlone) {
  Node resize = node_of("Resize");
  EXPECT_TRUE(only_moves(resize));
  resize.attributes["mode"] = std::string("linear");
  EXPECT_FALSE(only_moves(resize));
  resize.attributes["mode"] = std::string("nearest");
  resize.attributes["coordinate_transformation_mode"] = std::string("tf_crop_and_resize");
  EXPECT_FALSE(only_moves(resize));
}

TEST(Operators, PadMovesWhereItAddsZerosOrElementsOfItsInput) {
  Node pad = node_of("Pad");
  EXPECT_TRUE(only_moves(pad));
  pad.inputs = {"x", "pads", "value"};
  EXPECT_FALSE(only_moves(pad));
  pad.attributes["mode"] = std::string("reflect");
  EXPECT_TRUE(only_moves(pad));
}

TEST(Operators, MaximumMovesButNotByPosition) {
  EXPECT_TRUE(only_moves(node_of("MaxPool")));
  EXPECT_FALSE(selects_by_position(node_of("MaxPool")));
  EXPECT_FALSE(only_moves(node_of("Concat")));
  EXPECT_TRUE(selects_by_position(node_of("Concat")));
}

TEST(Operators, AlphaIsGemmsAlone) {
  Node node = node_of("Gemm");
  node.attributes["alpha"] = 0.5;
  EXPECT_EQ(alpha_of(node), 0.5);
  node.op_type = "LeakyRelu";
  EXPECT_EQ(alpha_of(node), 1);
}

TEST(Operators, OutputChannelsLieWhereOnnxPutsThem) {
  Node gemm = node_of("Gemm");
  EXPECT_EQ(weight_layout(gemm, 2).axis, 1);
  EXPECT_EQ(weight_layout(gemm, 2, 0).axis, 0);
  gemm.attributes["transB"] = std::int64_t{1};
  EXPECT_EQ(weight_layout(gemm, 2).axis, 0);
  EXPECT_EQ(weight_layout(node_of("Conv"), 4).axis, 0);
  EXPECT_EQ(weight_layout(node_of("ConvTranspose"), 4).axis, 1);
  EXPECT_EQ(weight_layout(node_of("MatMul"), 3).axis, 2);
  EXPECT_EQ(weight_layout(node_of("MatMul"), 3, 0).axis, 1);
  EXPECT_EQ(weight_layout(node_of("MatMul"), 1).axis, -1);
}

/// ConvTranspose, weight [C = 4, M/g = 3, 1], two groups: rows 0 and 1 make outputs 0 to 2, rows 2 and 3 outputs 3
/// to 5.
TEST(Operators, GroupsOfAConvTransposeHaveChannelsOfTheirOwn) {
  Node node = node_of("ConvTranspose");
  node.attributes["group"] = std::int64_t{2};
  const WeightLayout layout = weight_layout(node, 3);
  const core::Shape shape{4, 3, 1};
  EXPECT_EQ(layout.channels(shape), 6);
  EXPECT_EQ(layout.channel(shape, 0), 0U);
  EXPECT_EQ(layout.channel(shape, 5), 2U);
  EXPECT_EQ(layout.channel(shape, 6), 3U);
  EXPECT_EQ(layout.channel(shape, 11), 5U);
}

/// The reference on points 2⁻⁶ apart: no two neighbours differ by more than the slope allows.
TEST(Operators, SlopesBoundWhatTheReferenceComputes) {
  std::vector<double> points;
  for (int i = -512; i <= 512; ++i) points.push_back(i * 0x1p-6);
  const core::Tensor x(core::DType::float64, {static_cast<std::int64_t>(points.size())}, points);
  int checked = 0;
  for (const OperatorTraits& row : operator_table()) {
    const bool function = row.enclosing == Enclosing::bounded_function || row.enclosing == Enclosing::soft_turning ||
                          row.enclosing == Enclosing::hard_swish;
    if (!function) continue;
    Node node = node_of(std::string(row.op));
    node.inputs = {"x"};
    const reference::OpDef* op = reference::find_operator(node.domain, node.op_type);
    ASSERT_NE(op, nullptr) << row.op;
    const auto values = reference::execute_node(node, op->last_opset, std::vector{&x});
    ASSERT_TRUE(values) << values.error().message;
    const double slope = slope_limit(node);
    ASSERT_GT(slope, 0) << row.op;
    const auto y = values->front().reals();
    for (std::size_t i = 1; i < y.size(); ++i) {
      ASSERT_LE(std::abs(y[i] - y[i - 1]), slope * 0x1p-6 * (1 + 1e-12)) << row.op << " at " << points[i];
    }
    ++checked;
  }
  EXPECT_GE(checked, 15);
}

TEST(Operators, OperandsThatMayChangePlaces) {
  for (const char* op : {"Add", "Mul", "Min", "Max", "Sum", "Mean"}) EXPECT_TRUE(commutes(op)) << op;
  for (const char* op : {"Sub", "Div", "MatMul", "Relu"}) EXPECT_FALSE(commutes(op)) << op;
}

}  // namespace
}  // namespace assay::judge
