#include "harness/judge/alignment/distributed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using testing::parse;
using testing::reals;

// Gains of 2 and 3 for the first layer, 4 for the second.
const std::map<std::string, core::Tensor> kJoined{
    {"u", reals({2, 1, 1, 1}, {1, -1})}, {"w", reals({1, 1, 1, 1}, {0.5})}, {"g", reals({3}, {2, 3, 4})},
    {"b", reals({3}, {1, -1, 0})},       {"m", reals({3}, {0, 0.5, -2})},   {"v", reals({3}, {1, 1, 1})}};

const std::string kJoin = "p = Conv(x, u) q = Conv(x, w) j = Concat<axis=1>(p, q) ";

std::shared_ptr<const OriginalForm> distributed_for(const std::string& nodes,
                                                    std::map<std::string, core::Tensor> numbers,
                                                    const std::string& behind = "") {
  static const std::string io = " (float[1,1,1,1] x) => (float[1,3,1,1] y) { ";
  const std::string normalized = behind.empty() ? "y" : "n";
  const model::Model original = parse(
      "g" + io + kJoin + normalized + " = BatchNormalization<epsilon=0.0>(j, g, b, m, v) " + behind + " }", kJoined);
  return distributed(original, std::make_shared<const model::Model>(parse("a" + io + nodes + " }", numbers)));
}

const std::map<std::string, core::Tensor> kMultiplied{{"u", reals({2, 1, 1, 1}, {2.02, -2.99})},
                                                      {"w", reals({1, 1, 1, 1}, {2})}};

TEST(DistributedModel, NormalizesEachLayerInFrontOfTheConcat) {
  const auto form = distributed_for("p = Conv(x, u) q = Conv(x, w) y = Concat<axis=1>(p, q)", kMultiplied);
  ASSERT_NE(form, nullptr);
  const model::Graph& graph = form->model.graph;
  ASSERT_EQ(graph.nodes.size(), 5U);
  const model::Wiring wiring(graph);
  const model::Node& join = graph.nodes[*wiring.producer("y")];
  EXPECT_EQ(join.op_type, "Concat");
  EXPECT_THAT(join.inputs, ::testing::ElementsAre("p", "q")) << "by the names that the artifact has for them";
  const model::Node& first = graph.nodes[*wiring.producer("p")];
  EXPECT_EQ(first.op_type, "BatchNormalization");
  EXPECT_THAT(graph.initializer(first.inputs[1])->reals(), ::testing::ElementsAre(2, 3));
  EXPECT_THAT(graph.initializer(first.inputs[3])->reals(), ::testing::ElementsAre(0, 0.5));
  const model::Node& second = graph.nodes[*wiring.producer("q")];
  EXPECT_THAT(graph.initializer(second.inputs[1])->reals(), ::testing::ElementsAre(4));
  EXPECT_EQ(graph.nodes[*wiring.producer(second.inputs[0])].op_type, "Conv");
}

TEST(DistributedModel, WhatReadsTheBatchNormalizationReadsTheConcat) {
  const auto form =
      distributed_for("p = Conv(x, u) q = Conv(x, w) j = Concat<axis=1>(p, q) y = Relu(j)", kMultiplied, "y = Relu(n)");
  ASSERT_NE(form, nullptr);
  const model::Wiring wiring(form->model.graph);
  EXPECT_EQ(form->model.graph.nodes[*wiring.producer("y")].inputs.front(), "j");
}

TEST(DistributedModel, IsNoneWhereTheLayersAreAsTheyWereOrSomethingElseReadsThem) {
  EXPECT_EQ(distributed_for("p = Conv(x, u) q = Conv(x, w) y = Concat<axis=1>(p, q)", kJoined), nullptr) << "lost";
  EXPECT_EQ(distributed_for(kJoin + "y = BatchNormalization<epsilon=0.0>(j, g, b, m, v)", kJoined), nullptr) << "there";
  EXPECT_EQ(distributed_for("p = Conv(x, u) q = Conv(x, w) j = Concat<axis=1>(p, q) y = Add(j, j)", kMultiplied,
                            "y = Add(n, j)"),
            nullptr)
      << "the Concat is read as it was";
}

}  // namespace
}  // namespace assay::judge
