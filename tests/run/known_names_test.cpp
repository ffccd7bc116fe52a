#include "harness/run/known_names.hpp"

#include <gmock/gmock.h>

#include "harness/corpus/suite.hpp"

namespace assay::run {
namespace {

using testing::HasSubstr;

model::Graph graph_of(const std::vector<std::string>& names) {
  model::Graph graph;
  for (const std::string& name : names) {
    model::Node& node = graph.nodes.emplace_back();
    node.name = name;
    node.op_type = "Conv";
  }
  return graph;
}

converters::Options asking(const std::string& key) {
  converters::Options options;
  options.precision[key] = "fp32";
  return options;
}

TEST(KnownNames, SubgraphsHaveNodesToo) {
  model::Graph graph = graph_of({"choose"});
  graph.nodes.front().attributes["then_branch"] = std::make_shared<const model::Graph>(graph_of({"inner"}));
  EXPECT_TRUE(check_precision_names(asking("inner"), graph).ok());
  EXPECT_TRUE(check_fault_nodes({"bias_dropped@inner"}, graph).ok());
  EXPECT_FALSE(check_precision_names(asking("innr"), graph).ok());
}

TEST(KnownNames, TheNearestComeFirst) {
  const core::Status status = check_precision_names(asking("conv_12"), graph_of({"stem", "conv_1", "conv_2", "head"}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, core::ErrorKind::usage);
  EXPECT_THAT(status.error().message, HasSubstr("the nearest nodes are: \"conv_1\", \"conv_2\""));
}

TEST(KnownNames, APartIsAskedOfItsOwnNodesAlone) {
  const std::string options = R"({"symmetric":true,"precision":{"a":"fp32","b":"int8","Conv":"int8"}})";
  EXPECT_EQ(options_for_part(options, graph_of({"a"})), R"({"symmetric":true,"precision":{"a":"fp32","Conv":"int8"}})");
  EXPECT_EQ(options_for_part(R"({"precision":{"b":"fp32"}})", graph_of({"a"})), "{}");
  EXPECT_EQ(options_for_part("{}", graph_of({"a"})), "{}");
}

TEST(KnownNames, EveryShippedCaseAndOptionSetIsRight) {
  const core::Result<std::vector<corpus::Case>> cases = corpus::load_corpus();
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  std::size_t named = 0;
  for (const corpus::Case& each : *cases) {
    if (each.model == nullptr) continue;
    for (const corpus::Step& step : each.steps) {
      const auto base = converters::options_from_json(each.options_json);
      ASSERT_TRUE(base.ok());
      const auto options = converters::options_from_json(step.options_json, *base);
      ASSERT_TRUE(options.ok());
      named += options->precision.size();
      const core::Status status = check_precision_names(*options, each.model->graph);
      EXPECT_TRUE(status.ok()) << each.name << ": " << status.error().message;
    }
  }
  EXPECT_GT(named, 0U);
  for (const std::string& name : corpus::suite_names()) {
    const core::Result<corpus::Suite> suite = corpus::load_suite(name);
    ASSERT_TRUE(suite.ok()) << suite.error().message;
    for (const corpus::OptionSet& set : suite->option_sets) {
      const auto options = converters::options_from_json(set.options_json);
      ASSERT_TRUE(options.ok());
      const core::Status status = check_precision_operators(*options);
      EXPECT_TRUE(status.ok()) << name << ": " << status.error().message;
    }
  }
}

}  // namespace
}  // namespace assay::run
