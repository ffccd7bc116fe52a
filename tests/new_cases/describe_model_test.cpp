#include "harness/new_cases/describe_model.hpp"

#include <gtest/gtest.h>

#include "harness/model/onnx_io.hpp"

namespace assay::new_cases {
namespace {

core::TensorPtr tensor(core::Shape shape, std::vector<double> values) {
  return std::make_shared<const core::Tensor>(core::DType::float32, std::move(shape), std::move(values));
}

/// A Gemm and a Clip that leaves out an input; `weight` is the Gemm's.
model::Model small_model(core::TensorPtr weight) {
  auto parsed = model::parse_graph_text(
      "agraph (float[2,3] x) => (float[2,2] y) {\n"
      "  g = Gemm <alpha=0.1, transB=1> (x, w)\n"
      "  y = Clip (g, , high)\n}",
      {{"", 13}});
  EXPECT_TRUE(parsed);
  parsed->graph.initializers["w"] = std::move(weight);
  parsed->graph.initializers["high"] = tensor({}, {6});
  return *parsed;
}

TEST(DescribeModel, SaysASmallOneInWords) {
  const auto json = described_model(small_model(tensor({2, 3}, {0.1F, 2, 3, 4, 5, -6})));
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["graph"][1], "  g = Gemm <alpha=0.1, transB=1> (x, w)");
  EXPECT_EQ((*json)["initializers"]["w"]["data"], "values");
  EXPECT_EQ((*json)["initializers"]["w"]["values"][0], 0.1);
}

TEST(DescribeModel, DescribesAConstantOfAnySize) {
  const auto json = described_model(small_model(tensor({200, 3}, std::vector<double>(600, 0.5))));
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["initializers"]["w"]["data"], "constant");
}

TEST(DescribeModel, KeepsNamesThatTheTextCannotHold) {
  model::Model model = small_model(tensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  model.graph.inputs[0].name = model.graph.nodes[0].inputs[0] = "net/x:$0";
  model.graph.nodes[0].name = "dense one";
  const auto json = described_model(model);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["names"]["t0"], "net/x:$$0");
  EXPECT_EQ((*json)["node_names"]["g"], "dense one");
}

TEST(DescribeModel, LeavesNodesWithoutNames) {
  model::Model model = small_model(tensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  model.graph.nodes[0].unnamed = true;
  const auto json = described_model(model);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["node_names"]["g"], "");
}

TEST(DescribeModel, LeavesOthersToTheFile) {
  std::vector<double> many(600);
  for (std::size_t index = 0; index < many.size(); ++index) many[index] = static_cast<double>(index);
  EXPECT_FALSE(described_model(small_model(tensor({200, 3}, many))));
  model::Model with_constant = small_model(tensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  with_constant.graph.nodes[0].attributes["value"] = tensor({1}, {1});
  EXPECT_FALSE(described_model(with_constant));
}

}  // namespace
}  // namespace assay::new_cases
