#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using testing::DoubleNear;
using testing::Pointwise;

TEST(BatchNormalization, NormalizesEachChannelWithTheGivenMoments) {
  // Channel 0: (x - 1) / sqrt(3 + 1) * 10 + 5; channel 1: (x - 0) / sqrt(0.25 + 0) … with epsilon 1.
  const Tensor x = reals({1, 2, 2}, {1, 3, 2, -4});
  const std::vector<Tensor> inputs{x, reals({10, 1}), reals({5, 0}), reals({1, 0}), reals({3, 15})};
  EXPECT_THAT(first_output("BatchNormalization", inputs, {{"epsilon", 1.0}}).reals(), ElementsAre(5, 15, 0.5, -1));
}

TEST(BatchNormalization, TrainingTakesTheBatchesOwnMomentsAndMovesTheGivenOnes) {
  // Channel 0 holds 1 and 3 in two samples: mean 2, variance 1. A quarter of it and three quarters of what was given.
  const Tensor x = reals({2, 1, 1}, {1, 3});
  const Tensor one = reals({1});
  const Tensor mean = reals({6});
  const Tensor variance = reals({5});
  const Attributes attributes{{"training_mode", std::int64_t{1}}, {"momentum", 0.75}, {"epsilon", 0.0}};
  const auto outputs = run_op("BatchNormalization", {&x, &one, &one, &mean, &variance}, attributes, 15, 3);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT((*outputs)[0].reals(), ElementsAre(0, 2));
  EXPECT_THAT((*outputs)[1].reals(), ElementsAre(5));
  EXPECT_THAT((*outputs)[2].reals(), ElementsAre(4));
}

TEST(BatchNormalization, RefusesWhatDoesNotFit) {
  const std::vector<Tensor> inputs{counting({1, 1, 2}), reals({1}), reals({0}), reals({0}), reals({1})};
  EXPECT_THAT(error_of("BatchNormalization", inputs, {{"spatial", std::int64_t{0}}}, 7), HasSubstr("spatial 0"));
  EXPECT_THAT(error_of("BatchNormalization", {counting({1, 2, 2}), reals({1}), reals({0}), reals({0}), reals({1})}),
              HasSubstr("expected one value for each of 2 channels"));
}

TEST(InstanceNormalization, UsesTheMomentsOfEachPlane) {
  // Plane [1 3]: mean 2, variance 1, epsilon 0; plane [0 8]: mean 4, variance 16.
  const Tensor x = reals({1, 2, 2}, {1, 3, 0, 8});
  EXPECT_THAT(first_output("InstanceNormalization", {x, reals({10, 2}), reals({0, 100})}, {{"epsilon", 0.0}}).reals(),
              ElementsAre(-10, 10, 98, 102));
}

TEST(LayerNormalization, NormalizesAllAxesFromTheGivenOne) {
  const Tensor x = reals({2, 2}, {1, 3, 0, 8});
  const Tensor scale = reals({2, 1});
  const Tensor bias = reals({0, 5});
  const auto outputs = run_op("LayerNormalization", {&x, &scale, &bias}, {{"epsilon", 0.0}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT((*outputs)[0].reals(), ElementsAre(-2, 6, -2, 6));
  EXPECT_EQ((*outputs)[1].shape(), (Shape{2, 1}));
  EXPECT_THAT((*outputs)[1].reals(), ElementsAre(2, 4));
  EXPECT_THAT((*outputs)[2].reals(), ElementsAre(1, 0.25));
  // Mean 3, variance (4 + 0 + 9 + 25) / 4 = 9.5 over both axes.
  const Tensor whole =
      first_output("LayerNormalization", {x, scalar(1)}, {{"axis", std::int64_t{0}}, {"epsilon", 0.0}});
  EXPECT_NEAR(whole.reals()[3], 5 / std::sqrt(9.5), 1e-15);
}

TEST(GroupNormalization, SharesMomentsInsideAGroup) {
  // One group of two channels: [1 3 5 7] has mean 4, variance 5; epsilon 4 makes the divisor 3.
  const Tensor x = reals({1, 2, 2}, {1, 3, 5, 7});
  const Attributes attributes{{"num_groups", std::int64_t{1}}, {"epsilon", 4.0}};
  EXPECT_THAT(first_output("GroupNormalization", {x, reals({3}), reals({1})}, attributes, 18).reals(),
              ElementsAre(-2, 0, 2, 4));
  EXPECT_THAT(first_output("GroupNormalization", {x, reals({3, 6}), reals({1, 0})}, attributes, 21).reals(),
              ElementsAre(-2, 0, 2, 6));
  EXPECT_THAT(error_of("GroupNormalization", {x, reals({3}), reals({1})}, attributes, 21),
              HasSubstr("expected 2 values"));
}

TEST(Softmax, NormalizesAlongTheLastAxisByDefault) {
  const double a = std::exp(1.0);
  EXPECT_THAT(first_output("Softmax", {reals({2, 2}, {0, 1, 5, 5})}).reals(),
              Pointwise(DoubleNear(1e-15), {1 / (1 + a), a / (1 + a), 0.5, 0.5}));
}

TEST(Softmax, FlattensFromTheAxisBeforeOpset13) {
  const Tensor x = reals({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(first_output("Softmax", {x}, {}, 11).reals(), ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(first_output("Softmax", {x}, {}, 13).reals(), ElementsAre(0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(first_output("Softmax", {x}, {{"axis", std::int64_t{3}}}, 11).reals(), ElementsAre(1, 1, 1, 1));
}

TEST(Softmax, SurvivesLargeNumbers) {
  EXPECT_THAT(first_output("Softmax", {reals({1e4, 1e4})}).reals(), ElementsAre(0.5, 0.5));
}

TEST(LogSoftmax, IsTheLogarithmWithoutLosingSmallOnes) {
  EXPECT_THAT(first_output("LogSoftmax", {reals({0, 1000})}).reals(), ElementsAre(-1000, 0));
  EXPECT_NEAR(first_output("LogSoftmax", {reals({3, 3, 3, 3})}).reals()[0], -std::log(4.0), 1e-15);
}

TEST(LRN, SumsSquaresOverTheChannelsAround) {
  // size 2 reaches from the channel itself to the next one: 1 + 1/2 * (1 + 4), …, beta 1.
  const Tensor x = reals({1, 3, 1}, {1, 2, 3});
  EXPECT_THAT(first_output("LRN", {x}, {{"size", std::int64_t{2}}, {"alpha", 1.0}, {"beta", 1.0}}).reals(),
              Pointwise(DoubleNear(1e-15), {1 / 3.5, 2 / 7.5, 3 / 5.5}));
}

TEST(LpNormalization, DividesEachLineByItsNorm) {
  const Tensor x = reals({2, 2}, {3, -4, 0, 0});
  EXPECT_THAT(first_output("LpNormalization", {x}).reals(), ElementsAre(0.6, -0.8, 0, 0));
  EXPECT_THAT(first_output("LpNormalization", {x}, {{"p", std::int64_t{1}}, {"axis", std::int64_t{0}}}).reals(),
              ElementsAre(1, -1, 0, 0));
}

TEST(HardSigmoid, CutsALineAtZeroAndOne) {
  EXPECT_THAT(first_output("HardSigmoid", {reals({-9, -1, 1, 9})}, {{"alpha", 0.25}, {"beta", 0.5}}).reals(),
              ElementsAre(0, 0.25, 0.75, 1));
}

TEST(HardSwish, WeighsWithAHardSigmoidOfASixth) {
  EXPECT_THAT(first_output("HardSwish", {reals({-4, -1.5, 0, 3, 7})}).reals(), ElementsAre(0, -0.375, 0, 3, 7));
}

TEST(Erf, GivesTabulatedValues) {
  EXPECT_THAT(first_output("Erf", {reals({0, 0.5, -1})}).reals(),
              Pointwise(DoubleNear(1e-15), {0.0, 0.5204998778130465, -0.8427007929497149}));
}

TEST(Gelu, WeighsWithTheNormalDistribution) {
  // Φ(1) = 0.8413447460685429.
  EXPECT_THAT(first_output("Gelu", {reals({1, -1})}, {}, 20).reals(),
              Pointwise(DoubleNear(1e-15), {0.8413447460685429, -0.15865525393145707}));
  // tanh(0.7978845608 * 1.044715) = tanh(0.8335619…) = 0.682383984…
  EXPECT_NEAR(first_output("Gelu", {reals({1})}, {{"approximate", std::string("tanh")}}, 20).reals()[0],
              0.8411919906082768, 1e-12);
  EXPECT_THAT(error_of("Gelu", {reals({1})}, {{"approximate", std::string("sigmoid")}}, 20), HasSubstr("sigmoid"));
}

TEST(CumSum, RunsForwardsBackwardsAndWithoutTheElementItself) {
  const Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor last = scalar(DType::int64, -1);
  EXPECT_THAT(first_output("CumSum", {x, last}).reals(), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(first_output("CumSum", {x, last}, {{"exclusive", std::int64_t{1}}}).reals(),
              ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(first_output("CumSum", {x, last}, {{"reverse", std::int64_t{1}}}).reals(),
              ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(first_output("CumSum", {x, scalar(DType::int64, 0)}).reals(), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(error_of("CumSum", {x, scalar(DType::int64, 2)}), HasSubstr("axis 2 is outside [-2, 2)"));
}

}  // namespace
}  // namespace assay::reference
