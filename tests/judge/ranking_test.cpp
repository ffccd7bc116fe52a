#include "harness/judge/numerics/ranking.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace assay::judge {
namespace {

using core::DType;
using core::Tensor;

Enclosure around(core::Shape shape, std::vector<double> centre, double radius) {
  const std::vector<double> radii(centre.size(), radius);
  return enclosure_around(std::make_shared<const Tensor>(DType::float32, std::move(shape), std::move(centre)), radii);
}

Tensor positions(core::Shape shape, std::vector<std::int64_t> values) {
  return {DType::int64, std::move(shape), std::move(values)};
}

model::Node node(std::string op, std::vector<std::pair<std::string, std::int64_t>> attributes) {
  model::Node made;
  made.name = "n";
  made.op_type = std::move(op);
  for (auto& [name, value] : attributes) made.attributes[name] = value;
  return made;
}

TEST(Ranking, AnyPositionWhoseElementMayBeTheLargestIsRight) {
  const Enclosure scores = around({2, 3}, {1.0, 0.9, 0.1, 0.0, 0.5, 2.0}, 0.1);
  const auto arg_max = node("ArgMax", {{"axis", 1}});
  EXPECT_EQ(compare_ranking(arg_max, scores, positions({2, 1}, {0, 2})).wrong, 0);
  EXPECT_EQ(compare_ranking(arg_max, scores, positions({2}, {1, 2})).wrong, 0);
  const RankingExcess wrong = compare_ranking(arg_max, scores, positions({2, 1}, {1, 1}));
  EXPECT_EQ(wrong.wrong, 1);
  EXPECT_EQ(wrong.worst, 1);
  EXPECT_EQ(wrong.expected, 2);
  EXPECT_EQ(wrong.actual, 1);
  EXPECT_NEAR(wrong.margin, 7.5, 1e-4);
  EXPECT_NEAR(wrong.apart, 1.5, 1e-12);
}

TEST(Ranking, ThePositionsOfTheSmallestAreHeldLikewise) {
  const Enclosure scores = around({3, 2}, {1.0, 0.9, 0.1, 0.0, 0.5, 2.0}, 0.1);
  EXPECT_EQ(compare_ranking(node("ArgMin", {{"axis", 0}}), scores, positions({1, 2}, {1, 1})).wrong, 0);
  EXPECT_EQ(compare_ranking(node("ArgMin", {{"axis", 0}}), scores, positions({1, 2}, {0, 2})).wrong, 2);
}

TEST(Ranking, WherePositionsAreAllPossibleNothingIsJudged) {
  const auto arg_max = node("ArgMax", {{"axis", 1}});
  const RankingExcess open = compare_ranking(arg_max, around({1, 3}, {1, 0.9, 0.8}, 0.2), positions({1, 1}, {2}));
  EXPECT_EQ(open.wrong, 0);
  EXPECT_EQ(open.open, 1);
  EXPECT_EQ(compare_ranking(arg_max, around({1, 3}, {1, 0.9, 0.1}, 0.2), positions({1, 1}, {1})).open, 0);
}

TEST(Ranking, WhatIsNoPositionIsWrongForSure) {
  const auto arg_max = node("ArgMax", {{"axis", 1}});
  const Enclosure scores = around({1, 3}, {1, 0.9, 0.8}, 10);
  EXPECT_TRUE(std::isinf(compare_ranking(arg_max, scores, positions({1, 1}, {3})).margin));
  EXPECT_EQ(compare_ranking(arg_max, scores, positions({1, 1}, {-1})).wrong, 1);
}

TEST(Ranking, TopKHoldsEveryRankFromBothSides) {
  const Enclosure scores = around({5}, {5, 4, 3, 2, 1}, 0.1);
  const auto top = node("TopK", {{"axis", 0}});
  EXPECT_EQ(compare_ranking(top, scores, positions({3}, {0, 1, 2})).wrong, 0);
  EXPECT_EQ(compare_ranking(top, scores, positions({3}, {0, 2, 1})).wrong, 2);
  EXPECT_EQ(compare_ranking(top, scores, positions({3}, {0, 1, 4})).wrong, 1);
  EXPECT_EQ(compare_ranking(top, scores, positions({3}, {0, 1, 1})).wrong, 1);
  const auto unordered = node("TopK", {{"axis", 0}, {"sorted", 0}});
  EXPECT_EQ(compare_ranking(unordered, scores, positions({3}, {2, 0, 1})).wrong, 0);
  EXPECT_EQ(compare_ranking(unordered, scores, positions({3}, {3, 0, 1})).wrong, 1);
  const auto least = node("TopK", {{"axis", 0}, {"largest", 0}});
  EXPECT_EQ(compare_ranking(least, scores, positions({2}, {4, 3})).wrong, 0);
}

TEST(Ranking, ShapesThatDontFitSayNothing) {
  const Enclosure scores = around({2, 3}, {1, 2, 3, 4, 5, 6}, 0.1);
  EXPECT_EQ(compare_ranking(node("ArgMax", {{"axis", 1}}), scores, positions({3}, {0, 0, 0})).elements, 0);
  EXPECT_EQ(compare_ranking(node("ArgMax", {{"axis", 4}}), scores, positions({2}, {0, 0})).elements, 0);
}

}  // namespace
}  // namespace assay::judge
