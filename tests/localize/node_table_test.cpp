#include "harness/localize/node_table.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace assay::localize {
namespace {

/// Relu of a Conv of x.
model::Graph conv_relu() {
  model::Graph graph;
  graph.inputs.emplace_back().name = "x";
  graph.outputs.emplace_back().name = "y";
  for (const auto& [name, op, input, output] :
       {std::tuple("c1", "Conv", "x", "c"), std::tuple("r1", "Relu", "c", "y")}) {
    model::Node& node = graph.nodes.emplace_back();
    node.name = name;
    node.op_type = op;
    node.inputs = {input};
    node.outputs = {output};
  }
  return graph;
}

TEST(NodeTable, SaysWhatAFusedNodeIsJudgedWith) {
  const std::vector<judge::Metric> metrics{{"y", "typical", "local_margin", 0.9},
                                           {"y", "typical", "local_sqnr_db", 38.0}};
  const std::vector<NodeRow> rows = node_table(conv_relu(), metrics, {}, {});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].fused_into, "r1");
  EXPECT_EQ(rows[1].fused_into, "");
  const std::vector<NodeRow> outside = node_table(conv_relu(), {}, {}, {});
  EXPECT_EQ(outside[0].fused_into, "") << "nobody looked inside at all";
}

TEST(NodeTable, HasARowForAGraphInputThatIsWrong) {
  judge::Finding finding;
  finding.facet = judge::Facet::scale;
  finding.tensor = "x";
  finding.margin = 368;
  const std::vector<judge::Metric> metrics{{"y", "typical", "local_margin", 0.9}};
  const std::vector<NodeRow> rows = node_table(conv_relu(), metrics, {}, {{finding}});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].node, "x");
  EXPECT_EQ(rows[0].op, kGraphInput);
  EXPECT_TRUE(is_wrong(rows[0]));
  EXPECT_EQ(shown_margin(rows[0]), 368) << "what the finding says";
  EXPECT_EQ(shown_margin(rows[2]), 0.9);
  EXPECT_FALSE(is_wrong(rows[1]) || is_wrong(rows[2]));
}

TEST(NodeTable, BlamesNoNodeWhoseValueFollowsFromAnothersScale) {
  judge::Finding scale, bias;
  scale.facet = judge::Facet::scale;
  scale.tensor = "c";
  bias.facet = judge::Facet::bias;
  bias.node = "r1";
  bias.follows = "c";
  const std::vector<judge::Finding> both{scale, bias};
  const std::vector<NodeRow> rows = node_table(conv_relu(), {}, {}, both);
  EXPECT_TRUE(is_wrong(rows[0]));
  EXPECT_FALSE(is_wrong(rows[1]));
  EXPECT_TRUE(is_wrong(node_table(conv_relu(), {}, {}, {{bias}})[1])) << "nothing is wrong that it could follow from";
}

}  // namespace
}  // namespace assay::localize
