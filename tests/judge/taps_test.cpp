// The products behind one element are those that the reference sums.
#include "harness/judge/integers/taps.hpp"

#include <gtest/gtest.h>

#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

struct Sum {
  std::string name, op;
  std::map<std::string, model::Attribute> attributes;
  Shape x, w, bias;
};
using Ints = std::vector<std::int64_t>;

class Taps : public ::testing::TestWithParam<Sum> {};

TEST_P(Taps, AddUpToEveryElementOfTheReference) {
  const Sum& sum = GetParam();
  core::Rng rng(17);
  const auto drawn = [&](const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
    for (double& value : values) value = static_cast<double>(rng.integer(-9, 9));
    return reals(shape, values);
  };
  const Tensor x = drawn(sum.x), w = drawn(sum.w), bias = drawn(sum.bias);
  model::Node node;
  node.op_type = sum.op;
  node.attributes = sum.attributes;
  node.inputs = {"x", "w"};
  node.outputs = {"y"};
  std::vector<const Tensor*> inputs{&x, &w};
  const bool has_bias = !sum.bias.empty();
  if (has_bias) {
    node.inputs.emplace_back("b");
    inputs.push_back(&bias);
  }
  const auto outputs = reference::execute_node(node, 13, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const Tensor& y = outputs->front();
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const auto found = SumOfProducts::of(node, 13, x.shape(), w.shape(), has_bias ? &sum.bias : nullptr, i);
    ASSERT_TRUE(found.has_value());
    double value = found->bias ? bias.as_real(*found->bias) : 0;
    for (const Tap& tap : found->taps(x, w)) value += tap.x * tap.w;
    ASSERT_EQ(value, y.as_real(i)) << sum.op << " element " << i;
  }
  EXPECT_FALSE(SumOfProducts::of(node, 13, x.shape(), w.shape(), nullptr, y.size()).has_value());
}

INSTANTIATE_TEST_SUITE_P(
    All, Taps,
    ::testing::Values(
        Sum{"strided_conv",
            "Conv",
            {{"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 1}}},
            {2, 3, 7, 5},
            {4, 3, 3, 2},
            {4}},
        Sum{"grouped_conv",
            "Conv",
            {{"dilations", Ints{2, 1}}, {"group", std::int64_t{2}}},
            {1, 6, 7, 5},
            {4, 3, 3, 2},
            {}},
        Sum{"conv_same_lower", "Conv", {{"auto_pad", std::string("SAME_LOWER")}}, {1, 2, 9}, {3, 2, 4}, {3}},
        Sum{"conv_transpose",
            "ConvTranspose",
            {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 1}}},
            {2, 4, 3, 5},
            {4, 3, 3, 2},
            {3}},
        Sum{"grouped_conv_transpose",
            "ConvTranspose",
            {{"group", std::int64_t{2}},
             {"dilations", Ints{1, 2}},
             {"output_padding", Ints{1, 0}},
             {"strides", Ints{2, 1}}},
            {1, 4, 3, 5},
            {4, 3, 3, 2},
            {6}},
        Sum{"gemm_trans_a", "Gemm", {{"transA", std::int64_t{1}}}, {7, 5}, {7, 3}, {1, 3}},
        Sum{"gemm_trans_b", "Gemm", {{"transB", std::int64_t{1}}}, {5, 7}, {3, 7}, {5, 1}},
        Sum{"batched_matmul", "MatMul", {}, {2, 1, 5, 7}, {3, 7, 4}, {}},
        Sum{"matmul_by_vector", "MatMul", {}, {5, 7}, {7}, {}}),
    [](const auto& each) { return each.param.name; });

TEST(Taps, AreNothingForOtherOperators) {
  model::Node node;
  node.op_type = "Add";
  EXPECT_FALSE(SumOfProducts::of(node, 13, {2, 2}, {2, 2}, nullptr, 0).has_value());
}

}  // namespace
}  // namespace assay::judge::testing
