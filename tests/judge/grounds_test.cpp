#include "harness/judge/quantization/grounds.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "harness/judge/reference_cache.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

/// y = Relu(x·a)·b, converted by somebody who shows no artifact.
struct Untold {
  core::TensorMap inputs{{"x", reals({4, 2}, {-1, 0.5, 0.25, -0.75, 1, 0.125, -0.5, 0.875})}};
  Judged judged;
  std::shared_ptr<const CalibrationRanges> calibration;

  Untold() : judged(network(), network()) {
    judged.opaque = true;
    judged.add("typical", inputs, {});
    judged.calibrate();
    calibration = std::make_shared<const CalibrationRanges>(CalibrationRanges{judged.ranges, {}, {}, {}});
  }

  static model::Model network() {
    return parse(
        "g (float[4,2] x) => (float[4,2] y) { h = MatMul(x, a) r = Relu(h) y = MatMul(r, b) }",
        {{"a", reals({2, 3}, {0.5, -1, 0.75, 1, 0.25, -0.5})}, {"b", reals({3, 2}, {1, -1, 0.5, 2, -0.25, 1})}});
  }

  [[nodiscard]] LayerContext context() {
    LayerContext context = judged.context();
    context.calibration = calibration;
    context.ranges = &calibration->ranges;
    return context;
  }
};

TEST(GroundsCache, ServesConversionsThatTellTheSame) {
  Untold untold;
  GroundsCache cache;
  const std::shared_ptr<Grounds> first = cache.get(untold.context());
  EXPECT_EQ(cache.get(untold.context()), first);
  untold.judged.evidence.conversion.tensors.push_back({"h", {{0.25}, {0}, DType::int8, {}}});
  const std::shared_ptr<Grounds> told = cache.get(untold.context());
  EXPECT_NE(told, first) << "a scale that is told counts";
  EXPECT_EQ(told->plan().roundings("h").front().span->step > 0, true);
  untold.judged.evidence.conversion.tensors.clear();
  EXPECT_EQ(cache.get(untold.context()), first);
  untold.judged.evidence.options.symmetric = !untold.judged.evidence.options.symmetric;
  EXPECT_NE(cache.get(untold.context()), first) << "other options";
}

TEST(GroundsCache, KeepsNothingThatHangsOnAnArtifact) {
  Untold untold;
  GroundsCache cache;
  LayerContext context = untold.context();
  context.artifact = &*untold.judged.view;
  context.alignment = align(untold.judged.evidence, context.artifact);
  EXPECT_NE(cache.get(context), cache.get(context));
}

TEST(Grounds, OutliveTheEvidenceThatTheyWereMadeFrom) {
  Untold untold;
  GroundsCache cache;
  std::shared_ptr<Grounds> grounds;
  std::vector<double> before;
  {
    const Evidence kept = untold.judged.evidence;
    core::TensorMap inputs = untold.inputs;
    grounds = cache.get(untold.context());
    Grounds::EndToEnd& walk = grounds->end_to_end(inputs, true, {.twice = true}, true);
    ASSERT_EQ(walk.outputs.size(), 1U);
    before = radius_of(walk.outputs.front().carried);
    ASSERT_NE(grounds->prediction(inputs), nullptr);
    untold.judged.evidence.executions.clear();
  }
  Grounds::EndToEnd& again = grounds->end_to_end(untold.inputs, true, {.twice = true}, true);
  EXPECT_EQ(radius_of(again.outputs.front().carried), before);
  // Read from what the walk recorded: its own copy of the inputs.
  const auto radius = again.correlated.radius("y", 0);
  ASSERT_TRUE(radius);
  EXPECT_GT(*radius, 0);
  EXPECT_LE(*radius, before[0] * (1 + 1e-9));
  EXPECT_NE(grounds->prediction(untold.inputs)->value("y"), nullptr);
}

TEST(Grounds, AreThoseOfAnUnsharedWalk) {
  Untold untold;
  const LayerContext context = untold.context();
  Grounds grounds(context);
  const QuantizationPlan plan(context);
  BoundWalk walk(plan, untold.inputs, {}, {.twice = true});
  std::vector<double> expected;
  walk.run([&](const Alignment::Operation*, const std::string& tensor, const Enclosure& value) {
    if (tensor == "y") expected = radius_of(value);
  });
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(radius_of(grounds.end_to_end(untold.inputs, true, {.twice = true}, false).outputs.front().carried),
              expected);
  }
  const auto noise = predict_noise(plan, untold.inputs, Steps::finest);
  ASSERT_TRUE(noise);
  EXPECT_EQ(grounds.noise(untold.inputs, Steps::finest)->variance, noise->variance);
  core::TensorMap others = untold.inputs;
  others.at("x").reals()[0] = 0.25;
  EXPECT_NE(radius_of(grounds.end_to_end(others, true, {.twice = true}, false).outputs.front().carried), expected)
      << "other inputs, other bounds";
}

}  // namespace
}  // namespace assay::judge::testing
