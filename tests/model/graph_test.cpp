#include "harness/model/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/onnx_io.hpp"
#include "harness/model/rename.hpp"

namespace assay::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Model parse(const std::string& text) {
  core::Result<Model> model = parse_graph_text(text, {{"", 13}});
  EXPECT_TRUE(model.ok()) << model.error().message;
  return *std::move(model);
}

TEST(Normalize, PutsNodesIntoTopologicalOrder) {
  Model model = parse("g (float[2] x) => (float[2] y) { y = Relu(m) m = Neg(x) }");
  ASSERT_TRUE(normalize(model.graph).ok());
  EXPECT_EQ(model.graph.nodes[0].op_type, "Neg");
  EXPECT_EQ(model.graph.nodes[1].op_type, "Relu");
}

TEST(Normalize, NamesANodeByItsFirstOutput) {
  Model model = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  ASSERT_TRUE(normalize(model.graph).ok());
  EXPECT_EQ(model.graph.nodes[0].name, "y");
}

TEST(Normalize, NamesANodeOfACycle) {
  Model model = parse("g (float[2] x) => (float[2] y) { a = Add(x, y) y = Relu(a) }");
  const core::Status status = normalize(model.graph);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("cycle through node \"a\""));
}

TEST(Normalize, NamesAnInputThatNothingDefines) {
  Model model = parse("g (float[2] x) => (float[2] y) { y = Add(x, ghost) }");
  const core::Status status = normalize(model.graph);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().tensor, "ghost");
  EXPECT_EQ(status.error().node, "y");
}

TEST(Normalize, RefusesATensorMadeTwice) {
  Model model = parse("g (float[2] x) => (float[2] y) { y = Relu(x) y = Neg(x) }");
  const core::Status status = normalize(model.graph);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().tensor, "y");
}

TEST(Wiring, TellsProducersAndConsumers) {
  Model model = parse("g (float[2] x) => (float[2] y) { a = Relu(x) y = Add(a, a) }");
  ASSERT_TRUE(normalize(model.graph).ok());
  const Wiring wiring(model.graph);
  EXPECT_EQ(wiring.producer("a"), 0U);
  EXPECT_FALSE(wiring.producer("x").has_value());
  EXPECT_THAT(wiring.consumers("a"), ElementsAre(1U));
  EXPECT_TRUE(wiring.is_output("y"));
}

TEST(FreshName, AvoidsEveryNameInTheGraph) {
  const Model model = parse("g (float[2] x) => (float[2] y) { x_1 = Relu(x) y = Neg(x_1) }");
  EXPECT_EQ(fresh_name(model.graph, "x"), "x_2");
  EXPECT_EQ(fresh_name(model.graph, "z"), "z");
}

TEST(RenameTensors, ReachesReadersOutputsAndNodesNamedByThem) {
  Model model = parse("g (float[2] x) => (float[2] y) { a = Relu(x) y = Add(a, b) }");
  model.graph.initializers["b"] = std::make_shared<const Tensor>(Tensor::scalar(DType::float32, 1));
  ASSERT_TRUE(normalize(model.graph).ok());
  model.graph.nodes[1].name = "sum";
  rename_tensors(model.graph, {{"x", "in"}, {"a", "layer/a:0"}, {"b", "bias"}, {"y", "out"}});
  EXPECT_EQ(model.graph.inputs[0].name, "in");
  EXPECT_EQ(model.graph.outputs[0].name, "out");
  EXPECT_EQ(model.graph.nodes[0].name, "layer/a:0");
  EXPECT_EQ(model.graph.nodes[1].name, "sum");
  EXPECT_THAT(model.graph.nodes[1].inputs, ElementsAre("layer/a:0", "bias"));
  EXPECT_NE(model.graph.initializer("bias"), nullptr);
}

TEST(Attributes, FallBackWhenAbsentOrOfAnotherKind) {
  const Model model = parse("g (float[2] x) => (float[2] y) { y = LeakyRelu <alpha=0.5> (x) }");
  const Node& node = model.graph.nodes.front();
  EXPECT_EQ(node.float_or("alpha", 1), 0.5);
  EXPECT_EQ(node.int_or("alpha", 7), 7);
  EXPECT_EQ(node.string_or("mode", "none"), "none");
}

}  // namespace
}  // namespace assay::model
