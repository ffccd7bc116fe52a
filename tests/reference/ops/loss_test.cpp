#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

const Tensor kLogProb = reals({2, 3}, {-1, -2, -3, -4, -5, -6});

TEST(NegativeLogLikelihoodLoss, PicksTheScoreOfEachLabel) {
  const Tensor labels = codes(DType::int64, {2}, {0, 2});
  EXPECT_EQ(
      first_output("NegativeLogLikelihoodLoss", {kLogProb, labels}, {{"reduction", std::string("none")}}).to_reals(),
      (Reals{1, 6}));
  EXPECT_EQ(first_output("NegativeLogLikelihoodLoss", {kLogProb, labels}).to_reals(), Reals{3.5});
}

TEST(NegativeLogLikelihoodLoss, MeanDividesByTheWeightsOfWhatCounts) {
  const Tensor labels = codes(DType::int64, {2}, {0, 2});
  const Tensor weights = reals({3}, {2, 100, 3});
  EXPECT_EQ(first_output("NegativeLogLikelihoodLoss", {kLogProb, labels, weights}).to_reals(),
            Reals{(2.0 * 1.0 + 3.0 * 6.0) / 5.0});
  const Tensor ignored = codes(DType::int64, {2}, {0, 7});
  EXPECT_EQ(first_output("NegativeLogLikelihoodLoss", {kLogProb, ignored, weights}, {{"ignore_index", std::int64_t{7}}})
                .to_reals(),
            Reals{1});
}

TEST(NegativeLogLikelihoodLoss, RefusesALabelThatIsNoClass) {
  const Tensor labels = codes(DType::int64, {2}, {0, 3});
  EXPECT_THAT(error_of("NegativeLogLikelihoodLoss", {kLogProb, labels}), HasSubstr("names class 3 at element 1"));
}

TEST(SoftmaxCrossEntropyLoss, TakesTheLogOfTheSoftmaxOverAxisOne) {
  const Tensor scores = reals({1, 2, 1}, {std::log(3.0), 0});
  const Tensor labels = codes(DType::int64, {1, 1}, {1});
  const auto outputs = run_op("SoftmaxCrossEntropyLoss", {&scores, &labels}, {}, 13, 2);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT((*outputs)[0].to_reals(), Pointwise(DoubleNear(1e-12), Reals{std::log(4.0)}));
  EXPECT_THAT((*outputs)[1].to_reals(), Pointwise(DoubleNear(1e-12), Reals{std::log(0.75), std::log(0.25)}));
}

}  // namespace
}  // namespace assay::reference
