#include "harness/judge/alignment/renormalized.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using testing::parse;
using testing::reals;

const std::map<std::string, core::Tensor> kNumbers{
    {"g", reals({2}, {2, 3})}, {"b", reals({2}, {1, -1})}, {"m", reals({2}, {0.5, -2})}, {"v", reals({2}, {4, 0.25})}};

const model::Model& original() {
  static const model::Model model = parse(
      "g (float[1,2,1,1] x) => (float[1,2,1,1] y) { y = BatchNormalization<epsilon=0.0>(x, g, b, m, v) }", kNumbers);
  return model;
}

std::shared_ptr<const OriginalForm> form_for(const std::string& nodes, std::map<std::string, core::Tensor> numbers) {
  const auto artifact = std::make_shared<const model::Model>(
      parse("a (float[1,2,1,1] x) => (float[1,2,1,1] y) { " + nodes + " }", numbers));
  return renormalized(original(), artifact);
}

const std::string kNormalization = "y = BatchNormalization<epsilon=0.0>(x, g, b, m, v)";

TEST(RenormalizedModel, HasTheGammaAndBetaThatTheArtifactsMeanAndVarianceAskFor) {
  // Slopes 2/2 and 3/0.5; 1 − 0.5·1 and −1 + 2·6.
  const auto form = form_for(
      kNormalization,
      {{"g", reals({2}, {1, 6})}, {"b", reals({2}, {0.5, 11})}, {"m", reals({2}, {0, 0})}, {"v", reals({2}, {1, 1})}});
  ASSERT_NE(form, nullptr);
  EXPECT_THAT(form->model.graph.initializer("g")->reals(), ::testing::ElementsAre(1, 6));
  EXPECT_THAT(form->model.graph.initializer("b")->reals(), ::testing::ElementsAre(0.5, 11));
  EXPECT_THAT(form->model.graph.initializer("m")->reals(), ::testing::ElementsAre(0, 0));
}

TEST(RenormalizedModel, IsNoneWhereTheArtifactsNumbersAreTheOriginalsOrFitNeither) {
  EXPECT_EQ(form_for(kNormalization, kNumbers), nullptr);
  auto wrong = kNumbers;
  wrong.at("m") = reals({2}, {0, 0});  // a lost mean: nothing makes up for it
  EXPECT_EQ(form_for(kNormalization, wrong), nullptr);
}

TEST(RenormalizedModel, IsAConvWithOneWeightForEachChannelWhereTheArtifactHasThat) {
  const auto form =
      form_for("y = Conv<group=2>(x, w, c)", {{"w", reals({2, 1, 1, 1}, {1.01, 5.9})}, {"c", reals({2}, {0.5, 11})}});
  ASSERT_NE(form, nullptr);
  const model::Node& node = form->model.graph.nodes.front();
  EXPECT_EQ(node.op_type, "Conv");
  EXPECT_EQ(node.int_or("group", 1), 2);
  EXPECT_THAT(form->model.graph.initializer(node.input(1))->reals(), ::testing::ElementsAre(1, 6));
  EXPECT_THAT(form->model.graph.initializer(node.input(2))->reals(), ::testing::ElementsAre(0.5, 11));
}

}  // namespace
}  // namespace assay::judge
