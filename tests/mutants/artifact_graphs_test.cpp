#include "harness/mutants/artifact_graphs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/onnx_io.hpp"

namespace assay::mutants {
namespace {

using core::DType;
using core::Tensor;

Tensor reals(core::Shape shape, std::vector<double> values) {
  return {DType::float32, std::move(shape), std::move(values)};
}

model::Model parsed(const std::string& text) {
  auto model = model::parse_graph_text(text, {{"", 13}});
  EXPECT_TRUE(model) << model.error().message;
  return *std::move(model);
}

TEST(ArtifactGraphs, AScansBodyHasTheShapesOfItsFirstIteration) {
  const model::Model model = parsed(R"(agraph (float[3,2] x, float[2] s) => (float[2] f, float[3,2] z) {
    f, z = Scan <num_scan_inputs=1, body = g (float[2] a, float[2] e) => (float[2] a2, float[2] e2) {
      a2 = Add (a, e)
      e2 = Neg (a2)
    }> (s, x)
  })");
  const auto graphs = artifact_graphs(model, {{"x", reals({3, 2}, {1, 2, 3, 4, 5, 6})}, {"s", reals({2}, {0, 0})}});
  ASSERT_EQ(graphs.size(), 2U);
  EXPECT_EQ(graphs[0].tensors.at("z"), (TensorFacts{DType::float32, {3, 2}}));
  EXPECT_EQ(graphs[1].tensors.at("e"), (TensorFacts{DType::float32, {2}}));
  EXPECT_EQ(graphs[1].tensors.at("e2"), (TensorFacts{DType::float32, {2}}));
}

TEST(ArtifactGraphs, ALoopsBodyReadsFromOutside) {
  const model::Model model = parsed(R"(agraph (int64 n, bool go, float[2] v, float[2] w) => (float[2] r) {
    r = Loop <body = g (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
      c2 = Identity (c)
      a2 = Add (a, w)
    }> (n, go, v)
  })");
  const core::TensorMap inputs{{"n", Tensor(DType::int64, {}, std::vector<std::int64_t>{2})},
                               {"go", Tensor(DType::boolean, {}, std::vector<std::int64_t>{1})},
                               {"v", reals({2}, {1, 2})},
                               {"w", reals({2}, {3, 4})}};
  const auto graphs = artifact_graphs(model, inputs);
  ASSERT_EQ(graphs.size(), 2U);
  EXPECT_EQ(graphs[1].tensors.at("a2"), (TensorFacts{DType::float32, {2}}));
  EXPECT_EQ(graphs[1].tensors.at("c2"), (TensorFacts{DType::boolean, {}}));
}

TEST(ArtifactGraphs, AnEditOfABodyLeavesTheOtherBodiesAlone) {
  const model::Model model = parsed(R"(agraph (float[2] x, bool c) => (float[2] y) {
    y = If (c) <then_branch = g1 () => (float[2] a) { a = Neg (x) },
                else_branch = g2 () => (float[2] b) { b = Add (x, x) }>
  })");
  const model::Model changed =
      edited(model, {{0, "then_branch"}}, [](model::Graph& body) { body.nodes[0].op_type = "Abs"; });
  const model::Node &before = model.graph.nodes[0], &after = changed.graph.nodes[0];
  EXPECT_EQ(before.graph("then_branch")->nodes[0].op_type, "Neg");
  EXPECT_EQ(after.graph("then_branch")->nodes[0].op_type, "Abs");
  EXPECT_EQ(after.graph("else_branch"), before.graph("else_branch"));
}

}  // namespace
}  // namespace assay::mutants
