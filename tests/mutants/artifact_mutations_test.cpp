#include "harness/mutants/artifact_mutations.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/core/rng.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"
#include "tests/mutants/small_artifact.hpp"

namespace assay::mutants {
namespace {

using core::DType;
using core::Tensor;
using model::Graph;
using model::Node;
using testing::IsSubsetOf;

core::TensorMap some_inputs() {
  core::Rng rng(7);
  std::vector<double> values(32);
  for (double& each : values) each = rng.uniform(-3, 3);
  return {{"x", core::rounded_to_type(Tensor(DType::float32, {1, 2, 4, 4}, std::move(values)))}};
}

std::map<std::string, const Node*> by_name(const Graph& graph) {
  std::map<std::string, const Node*> nodes;
  for (const Node& node : graph.nodes) nodes[node.name] = &node;
  return nodes;
}

/// What tells one graph from the other: "x_q.input1", "c.pads", "added Identity", "removed LeakyRelu". A constant
/// counts by its value.
std::set<std::string> differences(const Graph& before, const Graph& after) {
  std::set<std::string> found;
  const auto old_nodes = by_name(before), new_nodes = by_name(after);
  for (const auto& [name, node] : new_nodes) {
    if (!old_nodes.contains(name)) found.insert("added " + node->op_type);
  }
  for (const auto& [name, node] : old_nodes) {
    const auto same = new_nodes.find(name);
    if (same == new_nodes.end() || same->second->op_type != node->op_type) {
      found.insert("removed " + node->op_type);
      continue;
    }
    const Node& other = *same->second;
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const core::TensorPtr x = constant_of(before, node->input(i)), y = constant_of(after, other.input(i));
      const bool equal = x != nullptr && y != nullptr ? *x == *y : node->input(i) == other.input(i);
      if (!equal) found.insert(fmt::format("{}.input{}", name, i));
    }
    for (const auto& [attribute, value] : node->attributes) {
      if (!(other.attributes.at(attribute) == value)) found.insert(name + "." + attribute);
    }
    if (node->outputs != other.outputs) found.insert(name + ".output");
  }
  return found;
}

/// A kind of defect on the small artifact: what it may change, and where the two sides of a pair change together.
struct Expected {
  std::string kind;
  std::vector<std::string> may_change;
  std::size_t least = 1;  ///< so many of them at once
};

const std::vector<Expected>& expected() {
  static const std::vector<Expected> kExpected{
      {"scale", {"x_q.input1", "x_dq.input1", "l_q.input1", "l_dq.input1", "m_q.input1", "m_dq.input1"}, 2},
      {"zero_point", {"x_q.input2", "x_dq.input2", "l_q.input2", "l_dq.input2", "m_q.input2", "m_dq.input2"}, 2},
      {"one_side_scale", {"x_q.input1", "x_dq.input1", "l_q.input1", "l_dq.input1", "m_q.input1", "m_dq.input1"}},
      {"one_side_zero_point", {"x_q.input2", "x_dq.input2", "l_q.input2", "l_dq.input2", "m_q.input2", "m_dq.input2"}},
      {"other_quantizer",
       {"x_q.input1", "x_dq.input1", "l_q.input1", "l_dq.input1", "m_q.input1", "m_dq.input1", "x_q.input2",
        "x_dq.input2", "l_q.input2", "l_dq.input2", "m_q.input2", "m_dq.input2"},
       4},
      {"pair_removed",
       {"removed QuantizeLinear", "removed DequantizeLinear", "c.input0", "m.input0", "m.input1", "k.input0"},
       3},
      {"pair_added",
       {"added QuantizeLinear", "added DequantizeLinear", "x_dq.output", "l_dq.output", "m_dq.output"},
       3},
      {"weight_scale", {"w.input1"}},
      {"weight_zero_point", {"w.input2"}},
      {"weight_value", {"w.input0"}},
      {"channel_scales", {"w.input1", "b.input1"}},
      {"quantizer_axis", {"w.axis"}},
      {"bias", {"b.input0"}},
      {"bias_scale", {"b.input1"}},
      {"float_constant", {"k.input1"}},
      {"integer_constant", {"p.input1"}},
      {"pads", {"c.pads"}},
      {"float_attribute", {"l.alpha"}},
      {"integer_attribute", {"y.axis"}},
      {"list_attribute", {"t.perm"}},
      {"word_attribute", {"p.mode"}},
      {"operands_swapped", {"m.input0", "m.input1"}, 2},
      {"operand_twice", {"m.input0", "m.input1"}},
      {"operand_of_another",
       {"c.input0", "l.input0", "m.input0", "m.input1", "k.input0", "p.input0", "t.input0", "y.input0"}},
      {"node_removed",
       {"removed Conv", "removed LeakyRelu", "removed Sub", "removed Mul", "removed Transpose", "removed Softmax",
        "added Identity", "l.input0", "l_q.input0", "m_q.input0", "p.input0", "y.input0"}},
      {"node_doubled",
       {"added Conv", "added LeakyRelu", "added Sub", "added Mul", "added Transpose", "added Softmax", "c.output",
        "l.output", "m.output", "k.output", "t.output", "y.output"},
       2},
  };
  return kExpected;
}

TEST(ArtifactMutations, EveryKindIsKnownToTheTest) {
  std::vector<std::string> kinds, known;
  for (const MutationRow& row : mutation_table()) kinds.emplace_back(row.kind);
  for (const Expected& each : expected()) known.push_back(each.kind);
  EXPECT_EQ(kinds, known);
}

TEST(ArtifactMutations, EachKindChangesWhatItSaysAndNothingElse) {
  const model::Model artifact = test::small_artifact();
  const std::vector<ArtifactGraph> graphs = artifact_graphs(artifact, some_inputs());
  ASSERT_EQ(graphs.size(), 1U);
  for (std::size_t row = 0; row < mutation_table().size(); ++row) {
    const Expected& want = expected()[row];
    int applied = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      core::Rng rng(seed);
      Draft draft{artifact.graph, graphs.front().tensors};
      const std::optional<Defect> defect = mutation_table()[row].apply(draft, rng);
      if (!defect) continue;
      ++applied;
      const std::set<std::string> changed = differences(artifact.graph, draft.graph);
      EXPECT_THAT(changed, IsSubsetOf(want.may_change)) << want.kind << ": " << defect->what;
      EXPECT_GE(changed.size(), want.least) << want.kind << ": " << defect->what;
      EXPECT_FALSE(defect->node.empty() || defect->op.empty() || defect->what.empty()) << want.kind;
    }
    EXPECT_GT(applied, 0) << want.kind;
  }
}

TEST(ArtifactMutations, BothSidesOfAPairGetTheSameParameters) {
  const model::Model artifact = test::small_artifact();
  const std::vector<ArtifactGraph> graphs = artifact_graphs(artifact, some_inputs());
  for (const std::size_t row : {0U, 1U, 4U}) {  // scale, zero_point, other_quantizer
    core::Rng rng(3);
    Draft draft{artifact.graph, graphs.front().tensors};
    ASSERT_TRUE(mutation_table()[row].apply(draft, rng));
    const auto nodes = by_name(draft.graph);
    for (const char* stem : {"x", "l", "m"}) {
      const Node &quantize = *nodes.at(std::string(stem) + "_q"), &dequantize = *nodes.at(std::string(stem) + "_dq");
      for (const std::size_t input : {1U, 2U}) {
        EXPECT_EQ(*constant_of(draft.graph, quantize.input(input)), *constant_of(draft.graph, dequantize.input(input)));
      }
    }
  }
}

TEST(ArtifactMutations, PadsMoveWithoutChangingTheShape) {
  const model::Model artifact = test::small_artifact();
  const std::vector<ArtifactGraph> graphs = artifact_graphs(artifact, some_inputs());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    core::Rng rng(seed);
    Draft draft{artifact.graph, graphs.front().tensors};
    ASSERT_TRUE(mutation_table()[16].apply(draft, rng));
    const std::vector<std::int64_t> pads = by_name(draft.graph).at("c")->ints_or("pads");
    ASSERT_EQ(pads.size(), 4U);
    EXPECT_EQ(pads[0] + pads[2], 2);
    EXPECT_EQ(pads[1] + pads[3], 2);
  }
}

TEST(ArtifactMutations, ASeedGivesTheSameMutantsAgain) {
  const model::Model artifact = test::small_artifact();
  const std::vector<ArtifactGraph> graphs = artifact_graphs(artifact, some_inputs());
  int other = 0;
  for (std::size_t index = 0; index < 60; ++index) {
    const auto first = make_mutant(artifact, graphs, 1, "case", index);
    const auto again = make_mutant(artifact, graphs, 1, "case", index);
    ASSERT_TRUE(first && again);
    EXPECT_EQ(model::serialize_model(first->model), model::serialize_model(again->model)) << index;
    EXPECT_EQ(first->defect.what, again->defect.what);
    for (const auto& unlike :
         {make_mutant(artifact, graphs, 2, "case", index), make_mutant(artifact, graphs, 1, "another case", index)}) {
      other += model::serialize_model(unlike->model) != model::serialize_model(first->model) ? 1 : 0;
    }
  }
  EXPECT_GT(other, 60);
}

TEST(ArtifactMutations, TheKindsTakeTurns) {
  const model::Model artifact = test::small_artifact();
  const std::vector<ArtifactGraph> graphs = artifact_graphs(artifact, some_inputs());
  for (std::size_t index = 0; index < mutation_table().size(); ++index) {
    const auto mutant = make_mutant(artifact, graphs, 5, "case", index);
    ASSERT_TRUE(mutant);
    EXPECT_EQ(mutant->kind, mutation_table()[index].kind);
  }
}

TEST(ArtifactMutations, BodiesAreChangedToo) {
  const model::Model artifact = test::model_with_branches();
  const core::TensorMap inputs{{"x", Tensor(DType::float32, {2, 3}, std::vector<double>{-2, -1, 0, 1, 2, 3})},
                               {"c", Tensor(DType::boolean, {}, std::vector<std::int64_t>{1})}};
  const std::vector<ArtifactGraph> graphs = artifact_graphs(artifact, inputs);
  ASSERT_EQ(graphs.size(), 3U);
  bool in_body = false;
  for (std::size_t index = 0; index < 40; ++index) {
    const auto mutant = make_mutant(artifact, graphs, 1, "case", index);
    in_body = in_body || (mutant && (mutant->defect.op == "Neg" || mutant->defect.op == "Add"));
  }
  EXPECT_TRUE(in_body);
}

}  // namespace
}  // namespace assay::mutants
