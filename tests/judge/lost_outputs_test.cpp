#include "harness/judge/lost_outputs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The mean of 2,184 elements, 0.005, is known to 3 % behind the codes of x, and may be 0 for all that intervals know.
const std::string kThroughAMean =
    "g (float[7,13,24] x) => (float[7,13,24] y) { u = ReduceMean<axes=[0,1,2]>(x) y = Div(x, u) }";

/// All scales told, nothing said of how the engine computes; `engine` makes the outputs out of the right ones.
Judged told(const std::string& text, const std::function<void(std::span<double>)>& engine) {
  const model::Model original = parse(text, {});
  const core::Shape shape{7, 13, 24};
  core::Rng rng(29);
  std::vector<double> values(std::size_t{7} * 13 * 24);
  for (double& value : values) value = float32(rng.uniform(-3, 3));
  const double excess = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()) - 0.005;
  for (double& value : values) value = float32(value - excess);
  const core::TensorMap inputs{{"x", reals(shape, values)}};
  core::TensorMap outputs = reference::execute(original, inputs).value();
  engine(outputs.at("y").reals());
  Judged judged(original, original);
  judged.opaque = true;
  judged.evidence.options.symmetric = true;
  judged.evidence.options.method = converters::Method::entropy;
  judged.add("typical", inputs, std::move(outputs));
  judged.calibrate();
  for (const auto& [name, params] : judged.audited) judged.evidence.conversion.tensors.push_back({name, params});
  return judged;
}

void of_other_elements(std::span<double> y) { std::ranges::reverse(y); }

TEST(LostOutputs, AreFoundWhereNoBoundReaches) {
  Judged judged = told(kThroughAMean, of_other_elements);
  EXPECT_THAT(judged.bounds(), IsEmpty());
  const std::vector<Finding> findings = judged.prediction();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].facet, Facet::numerics);
  EXPECT_EQ(findings[0].tensor, "y");
  EXPECT_GT(findings[0].margin, 1);
  EXPECT_THAT(findings[0].message, HasSubstr("next to nothing of the right values is left"));
}

TEST(LostOutputs, NoiseIsNoLoss) {
  Judged judged = told(kThroughAMean, [](std::span<double> y) {
    core::Rng rng(30);
    for (double& value : y) value *= rng.uniform(0.6, 1.4);  // 12.7 dB: far more than is right, yet noise
  });
  EXPECT_THAT(judged.prediction(), IsEmpty());
}

TEST(LostOutputs, AreNotLookedForWhereTheRoundingsArentKnown) {
  Judged judged = told(kThroughAMean, of_other_elements);
  judged.evidence.conversion.tensors.clear();
  EXPECT_THAT(judged.prediction(), IsEmpty());
}

// CenterNet keeps a heat map's maxima that way: one step between the two of Equal, and nothing is left.
TEST(LostOutputs, WhatAComparisonMakesOfAStepIsNone) {
  Judged judged = told(
      "g (float[7,13,24] x) => (float[7,13,24] y) { r = Relu(x) m = MaxPool<kernel_shape=[3], pads=[1,1]>(r)"
      " e = Equal(m, r) f = Cast<to=1>(e) y = Mul(r, f) }",
      [](std::span<double> y) { std::ranges::fill(y, 0); });
  EXPECT_THAT(judged.prediction(), IsEmpty());
}

TEST(LostOutputs, AFewElementsAtAPoleAreNone) {
  Judged judged =
      told("g (float[7,13,24] x) => (float[7,13,24] y) { e = Exp(x) y = Reciprocal(e) }", [](std::span<double> y) {
        for (std::size_t i = 0; i < y.size(); i += 12) y[i] = 1e4;
      });
  EXPECT_THAT(judged.prediction(), IsEmpty());
}

}  // namespace
}  // namespace assay::judge::testing
