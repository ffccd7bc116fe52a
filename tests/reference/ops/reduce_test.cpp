#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;
using Axes = std::vector<std::int64_t>;

TEST(ReduceSum, TakesAxesAsAttributeAndFromOpset13AsInput) {
  const Tensor x = counting({2, 3});  // 0 1 2 / 3 4 5
  EXPECT_EQ(first_output("ReduceSum", {x}, {{"axes", Axes{1}}}, 11), reals({2, 1}, {3, 12}));
  EXPECT_EQ(first_output("ReduceSum", {x, codes(DType::int64, {1}, {-1})}, {{"keepdims", std::int64_t{0}}}, 13),
            reals({2}, {3, 12}));
}

TEST(ReduceSum, ReducesEverythingWithoutAxesUnlessToldNotTo) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(first_output("ReduceSum", {x}), reals({1, 1}, {15}));
  EXPECT_EQ(first_output("ReduceSum", {x, codes(DType::int64, {0}, {})}, {{"noop_with_empty_axes", std::int64_t{1}}}),
            x);
}

TEST(ReduceSum, OfNothingIsZero) {
  EXPECT_EQ(first_output("ReduceSum", {reals({2, 0}, {}), codes(DType::int64, {1}, {1})}), reals({2, 1}, {0, 0}));
}

TEST(ReduceSum, RefusesAnAxisTwice) {
  EXPECT_THAT(error_of("ReduceSum", {counting({2, 3}), codes(DType::int64, {2}, {1, -1})}), HasSubstr("named twice"));
}

TEST(ReduceMean, TakesTheMiddleAxisOfThree) {
  const Tensor x = counting({2, 2, 2});  // 0 1 / 2 3 // 4 5 / 6 7
  EXPECT_EQ(first_output("ReduceMean", {x}, {{"axes", Axes{1}}}), reals({2, 1, 2}, {1, 2, 5, 6}));
  EXPECT_EQ(first_output("ReduceMean", {x, codes(DType::int64, {2}, {0, 2})}, {}, 18), reals({1, 2, 1}, {2.5, 4.5}));
}

TEST(ReduceMean, TruncatesIntegers) {
  EXPECT_EQ(first_output("ReduceMean", {codes(DType::int32, {2}, {-3, 0})}), codes(DType::int32, {1}, {-1}));
}

TEST(ReduceProd, OfNothingIsOne) {
  EXPECT_EQ(first_output("ReduceProd", {reals({0}, {})}, {{"keepdims", std::int64_t{0}}}), reals({}, {1}));
}

TEST(ReduceMax, OfNothingIsTheLowEnd) {
  EXPECT_EQ(first_output("ReduceMax", {reals({0}, {})}), reals({1}, {-kInf}));
  EXPECT_EQ(first_output("ReduceMax", {codes(DType::int8, {0}, {})}), codes(DType::int8, {1}, {-128}));
}

TEST(ReduceMin, KeepsNan) {
  const Tensor least = first_output("ReduceMin", {reals({1.0, std::nan(""), -1.0})});
  EXPECT_TRUE(std::isnan(least.reals()[0]));
}

TEST(ReduceL1, SumsMagnitudes) { EXPECT_EQ(first_output("ReduceL1", {reals({3, -4})}), reals({1}, {7})); }

TEST(ReduceL2, IsTheLengthOfAVector) { EXPECT_EQ(first_output("ReduceL2", {reals({3, -4})}), reals({1}, {5})); }

TEST(ReduceSumSquare, SumsSquares) { EXPECT_EQ(first_output("ReduceSumSquare", {reals({3, -4})}), reals({1}, {25})); }

TEST(ReduceLogSum, IsTheLogarithmOfTheSum) {
  EXPECT_DOUBLE_EQ(first_output("ReduceLogSum", {reals({3, 4})}).reals()[0], std::log(7.0));
}

TEST(ReduceLogSumExp, DoesNotOverflow) {
  EXPECT_DOUBLE_EQ(first_output("ReduceLogSumExp", {reals({1000, 1000})}).reals()[0], 1000.0 + std::log(2.0));
  EXPECT_EQ(first_output("ReduceLogSumExp", {reals({-kInf, -kInf})}).reals()[0], -kInf);
  EXPECT_EQ(first_output("ReduceLogSumExp", {reals({kInf, 0.0})}).reals()[0], kInf);
}

TEST(ArgMax, TakesTheFirstOfEqualsOrTheLast) {
  const Tensor x = reals({2, 3}, {5, 1, 5, 0, 2, 2});
  EXPECT_EQ(first_output("ArgMax", {x}, {{"axis", std::int64_t{1}}}), codes(DType::int64, {2, 1}, {0, 1}));
  EXPECT_EQ(
      first_output("ArgMax", {x},
                   {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}, {"select_last_index", std::int64_t{1}}}),
      codes(DType::int64, {2}, {2, 2}));
}

TEST(ArgMin, WorksAlongTheFirstAxis) {
  EXPECT_EQ(first_output("ArgMin", {reals({2, 3}, {5, 1, 5, 0, 2, 2})}), codes(DType::int64, {1, 3}, {1, 0, 1}));
}

TEST(ArgMin, RefusesAnEmptyAxis) {
  EXPECT_THAT(error_of("ArgMin", {reals({0, 3}, {})}), HasSubstr("no elements to choose from: float[0,3]"));
}

TEST(TopK, OrdersTiesByIndexAndNanFirst) {
  const Tensor x = reals({2, 4}, {1, 3, 3, 2, std::nan(""), 0, 5, 5});
  const Tensor k = codes(DType::int64, {1}, {3});
  const auto outputs = run_op("TopK", {&x, &k}, {}, 13, 2);
  ASSERT_TRUE(outputs);
  EXPECT_EQ((*outputs)[1], codes(DType::int64, {2, 3}, {1, 2, 3, 0, 2, 3}));
  EXPECT_EQ((*outputs)[0].reals()[2], 2.0);
}

TEST(TopK, MayTakeTheSmallestAlongAnotherAxis) {
  const Tensor x = reals({3, 2}, {5, 1, 4, 2, 6, 0});
  const Tensor k = codes(DType::int64, {1}, {2});
  const auto outputs = run_op("TopK", {&x, &k}, {{"axis", std::int64_t{0}}, {"largest", std::int64_t{0}}}, 13, 2);
  ASSERT_TRUE(outputs);
  EXPECT_EQ((*outputs)[0], reals({2, 2}, {4, 0, 5, 1}));
  EXPECT_EQ((*outputs)[1], codes(DType::int64, {2, 2}, {1, 2, 0, 0}));
}

TEST(TopK, RefusesMoreThanThereAre) {
  EXPECT_THAT(error_of("TopK", {reals({1, 2}), codes(DType::int64, {1}, {3})}), HasSubstr("k is 3"));
}

}  // namespace
}  // namespace assay::reference
