#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;

double at_point(const std::string& op, double x, const Attributes& attributes = {}, std::int64_t opset = 18) {
  return first_output(op, {scalar(x)}, attributes, opset).reals()[0];
}

TEST(Relu, KeepsNanAndTakesIntegers) {
  EXPECT_TRUE(std::isnan(at_point("Relu", kNan)));
  EXPECT_EQ(first_output("Relu", {codes(DType::int8, {3}, {-3, 0, 3})}), codes(DType::int8, {3}, {0, 0, 3}));
}

TEST(LeakyRelu, DefaultsToTheFloat32OfOneHundredth) {
  EXPECT_EQ(at_point("LeakyRelu", -1.0), -static_cast<double>(0.01F));
  EXPECT_EQ(at_point("LeakyRelu", -2.0, {{"alpha", 0.25}}), -0.5);
}

TEST(PRelu, StretchesOnlyTheSlope) {
  EXPECT_EQ(first_output("PRelu", {reals({2, 2}, {-1, 2, -3, -4}), reals({2, 1}, {0.5, 2.0})}),
            reals({2, 2}, {-0.5, 2, -6, -8}));
  EXPECT_THAT(error_of("PRelu", {reals({-1.0}), reals({2}, {1, 2})}), HasSubstr("slope float[2] does not broadcast"));
}

TEST(Clip, GivesTheUpperBoundWhereTheBoundsCross) {
  EXPECT_EQ(first_output("Clip", {reals({-5, 0, 5}), scalar(2.0), scalar(-2.0)}), reals({-2, -2, -2}));
}

TEST(Clip, TakesBoundsFromAttributesBeforeOpset11) {
  EXPECT_EQ(first_output("Clip", {reals({-5, 0, 9})}, {{"min", -1.0}, {"max", 6.0}}, 10), reals({-1, 0, 6}));
}

TEST(Clip, MayLeaveOutEitherBound) {
  const Tensor x = reals({-5, 0, 9});
  const Tensor six = scalar(6.0);
  const auto upper = run_op("Clip", {&x, nullptr, &six});
  ASSERT_TRUE(upper);
  EXPECT_EQ(upper->front(), reals({-5, 0, 6}));
}

TEST(Clip, TakesIntegersAndKeepsNan) {
  EXPECT_EQ(first_output("Clip", {codes(DType::int8, {3}, {-128, 3, 127}), scalar(DType::int8, -7)}),
            codes(DType::int8, {3}, {-7, 3, 127}));
  EXPECT_TRUE(std::isnan(first_output("Clip", {scalar(kNan), scalar(0.0), scalar(1.0)}).reals()[0]));
}

TEST(Clip, StopsInfinityAtTheEndOfTheType) {
  EXPECT_EQ(at_point("Clip", kInf), static_cast<double>(std::numeric_limits<float>::max()));
}

TEST(Clip, RefusesABoundThatIsAList) {
  EXPECT_THAT(error_of("Clip", {reals({1.0}), reals({0.0, 1.0})}), HasSubstr("expected one element"));
}

TEST(Sigmoid, IsAHalfAtZeroAndReachesItsEnds) {
  EXPECT_EQ(at_point("Sigmoid", 0.0), 0.5);
  EXPECT_EQ(at_point("Sigmoid", -800.0), 0.0);
  EXPECT_EQ(at_point("Sigmoid", 800.0), 1.0);
}

TEST(Softplus, DoesNotOverflow) {
  EXPECT_DOUBLE_EQ(at_point("Softplus", 0.0), std::log(2.0));
  EXPECT_EQ(at_point("Softplus", 1000.0), 1000.0);
  EXPECT_EQ(at_point("Softplus", -1000.0), 0.0);
}

TEST(Mish, FollowsItsFormula) {
  EXPECT_EQ(at_point("Mish", 0.0), 0.0);
  EXPECT_DOUBLE_EQ(at_point("Mish", 1.0), std::tanh(std::log(1.0 + std::exp(1.0))));
  EXPECT_EQ(at_point("Mish", 1000.0), 1000.0);
  EXPECT_EQ(at_point("Mish", -1000.0), 0.0);
}

TEST(QuickGelu, IsOfOnnxRuntimesDomainAndFollowsItsFormula) {
  const std::string op = "com.microsoft.QuickGelu";
  EXPECT_DOUBLE_EQ(at_point(op, 1.0, {}, 1), 1.0 / (1.0 + std::exp(-static_cast<double>(1.702F))));
  EXPECT_DOUBLE_EQ(at_point(op, -2.0, {{"alpha", 1.0}}, 1), -2.0 / (1.0 + std::exp(2.0)));
  EXPECT_EQ(at_point(op, 1000.0, {}, 1), 1000.0);
  EXPECT_EQ(at_point(op, -1000.0, {}, 1), 0.0);
  EXPECT_THAT(error_of("QuickGelu", {scalar(1.0)}, {}, 1), HasSubstr("no operator \"QuickGelu\""));
}

TEST(MicrosoftGelu, IsAnotherOperatorThanOnnxs) {
  EXPECT_DOUBLE_EQ(at_point("com.microsoft.Gelu", 1.0, {}, 1), 0.5 * (1.0 + std::erf(std::sqrt(0.5))));
  EXPECT_THAT(error_of("Gelu", {scalar(1.0)}, {}, 1), HasSubstr("at opset 20 to 28"));
}

TEST(Elu, IsLinearAboveZero) {
  EXPECT_EQ(at_point("Elu", 2.5), 2.5);
  EXPECT_DOUBLE_EQ(at_point("Elu", -1.0, {{"alpha", 2.0}}), 2.0 * (std::exp(-1.0) - 1.0));
}

TEST(Celu, DividesByAlphaInTheExponent) {
  EXPECT_EQ(at_point("Celu", 2.5), 2.5);
  EXPECT_DOUBLE_EQ(at_point("Celu", -2.0, {{"alpha", 2.0}}), 2.0 * (std::exp(-1.0) - 1.0));
}

TEST(Selu, HasTheDefaultsOfItsText) {
  EXPECT_DOUBLE_EQ(at_point("Selu", 1.0), 1.05070102214813232421875);
  EXPECT_DOUBLE_EQ(at_point("Selu", -1e9), -1.67326319217681884765625 * 1.05070102214813232421875);
}

TEST(ThresholdedRelu, CutsAtTheThresholdItself) {
  EXPECT_EQ(first_output("ThresholdedRelu", {reals({0.5, 1.0, 1.5})}), reals({0.0, 0.0, 1.5}));
}

TEST(Softsign, StaysBelowOne) {
  EXPECT_EQ(at_point("Softsign", 3.0), 0.75);
  EXPECT_EQ(at_point("Softsign", -1.0), -0.5);
}

TEST(Dropout, IsTheIdentityInInference) {
  const Tensor x = reals({1, 2, 3});
  const Tensor ratio = scalar(0.5);
  const auto outputs = run_op("Dropout", {&x, &ratio}, {}, 13, 2);
  ASSERT_TRUE(outputs);
  EXPECT_EQ((*outputs)[0], x);
  EXPECT_EQ((*outputs)[1], codes(DType::boolean, {3}, {1, 1, 1}));
}

TEST(Dropout, RefusesToDropAtRandom) {
  EXPECT_THAT(error_of("Dropout", {reals({1.0}), scalar(0.5), scalar(DType::boolean, 1)}), HasSubstr("at random"));
}

}  // namespace
}  // namespace assay::reference
