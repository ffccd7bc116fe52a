#include "harness/mutants/falsifications.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reference/executor.hpp"
#include "tests/mutants/small_artifact.hpp"

namespace assay::mutants {
namespace {

using core::DType;
using core::Tensor;
using testing::ElementsAre;

core::TensorMap branch_inputs(bool condition) {
  return {{"x", Tensor(DType::float32, {2, 3}, std::vector<double>{-2, -1, 1, 2, 3, 4})},
          {"c", Tensor(DType::boolean, {}, std::vector<std::int64_t>{condition ? 1 : 0})}};
}

TEST(Falsifications, ReachEveryNodeOfEveryGraph) {
  const model::Model model = test::model_with_branches();
  const std::vector<ArtifactGraph> graphs = artifact_graphs(model, branch_inputs(true));
  std::set<std::string> nodes;
  for (const FalsifiedPlace& place : falsified_places(graphs)) {
    nodes.insert(graphs[place.graph].graph->nodes[place.node].op_type);
  }
  EXPECT_THAT(nodes, ElementsAre("Add", "If", "Neg", "Relu"));
  EXPECT_EQ(falsified_places(graphs).size(), 4 * kFalsifications.size());
}

TEST(Falsifications, ANodeBehindGivesWhatTheValuesGive) {
  const model::Model model = test::model_with_branches();
  for (const bool condition : {true, false}) {
    const core::TensorMap inputs = branch_inputs(condition);
    const Tensor plain = reference::execute(model, inputs)->at("y");
    const std::vector<ArtifactGraph> graphs = artifact_graphs(model, inputs);
    int compared = 0;
    for (const FalsifiedPlace& place : falsified_places(graphs)) {
      const auto outputs = reference::execute(falsified(model, graphs, place), inputs);
      ASSERT_TRUE(outputs) << outputs.error().message;
      const model::Node& node = graphs[place.graph].graph->nodes[place.node];
      // The branch that isn't taken shows nothing; a Relu before the branches is linear behind, as they are.
      const bool taken = place.graph == 0 || node.op_type == (condition ? "Neg" : "Add");
      const Tensor expected = taken ? *falsified(plain, place.falsification) : plain;
      EXPECT_EQ(outputs->at("y"), expected) << node.op_type << ", " << falsification_name(place.falsification);
      ++compared;
    }
    EXPECT_EQ(compared, 16);
  }
}

TEST(Falsifications, CodesHaveNoFactor) {
  const Tensor codes(DType::int8, {1, 2}, std::vector<std::int64_t>{3, -5});
  EXPECT_FALSE(falsified(codes, Falsification::negated));
  EXPECT_THAT(falsified(codes, Falsification::channels_swapped)->integers(), ElementsAre(-5, 3));
}

TEST(Falsifications, WithoutTwoChannelsNoneAreSwapped) {
  EXPECT_FALSE(falsified(Tensor(DType::float32, {1, 1}, std::vector<double>{3}), Falsification::channels_swapped));
  EXPECT_FALSE(falsified(Tensor(DType::float32, {0, 2}, std::vector<double>{}), Falsification::channels_swapped));
  const Tensor one_channel(DType::float32, {1, 1, 2}, std::vector<double>{3, 4});
  EXPECT_THAT(falsified(one_channel, Falsification::channels_swapped)->reals(), ElementsAre(4, 3));
}

TEST(Falsifications, KeepTheTensorsNames) {
  const model::Model model = test::model_with_branches();
  const std::vector<ArtifactGraph> graphs = artifact_graphs(model, branch_inputs(true));
  for (const FalsifiedPlace& place : falsified_places(graphs)) {
    const std::vector<ArtifactGraph> after = artifact_graphs(falsified(model, graphs, place), branch_inputs(true));
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      for (const auto& [name, facts] : graphs[g].tensors) EXPECT_EQ(after[g].tensors.at(name), facts) << name;
    }
  }
}

}  // namespace
}  // namespace assay::mutants
