#include "harness/judge/alignment/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SumLimit, IsWhatASubGaussianSumStaysBelow) {
  EXPECT_DOUBLE_EQ(sum_limit(4, 2), 4);  // √(2·2·4)
  EXPECT_DOUBLE_EQ(sum_limit(0, 30), 0);
}

TEST(EnergyLimit, GrowsFromTheTraceByTheLargestVariance) {
  EXPECT_DOUBLE_EQ(energy_limit({4, 1}, 4), 4 + 2 * 4 + 2 * 4);
  EXPECT_DOUBLE_EQ(energy_limit({9, 0}, 30), 9) << "many small sources: the sum is its expectation";
}

TEST(DistinctValues, CountsNumbersOnceAndStopsWhereItDecides) {
  EXPECT_EQ(distinct_values({}, 10), 0U);
  EXPECT_EQ(distinct_values(std::vector<double>{3, 1, 3, -1, 1, 3}, 10), 3U);
  EXPECT_EQ(distinct_values(std::vector<double>{0.0, -0.0, 0.0}, 10), 1U) << "both zeros are one number";
  std::vector<double> many(5000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i % 1200);
  EXPECT_EQ(distinct_values(many, 5000), 1200U);
  EXPECT_GE(distinct_values(many, 1000), 1000U) << "as many as were asked for";
}

TEST(AlarmExponent, SharesOneProbabilityOfTheRun) {
  EXPECT_DOUBLE_EQ(kElementShare + kBiasShare + kVarianceShare + kMeasuredShare, 1);
  core::Rng rng(1);
  const RandomLayer random = random_layer(rng);
  Judged judged(random.layer.original(), random.layer.artifact());
  EXPECT_NEAR(alarm_exponent(judged.context(), 0.5), std::log(2e6 / (0.5 * 1e-6)), 1e-12);
}

ConvLayer::Requantize nearest_of_sums(const ConvLayer& layer) {
  return [&layer](std::int64_t sum, std::int64_t j) {
    return std::nearbyint(static_cast<double>(sum) * layer.multiplier(j));
  };
}

/// A layer of many outputs, so that its errors can be counted.
RandomLayer wide_layer(core::Rng& rng, bool one_sided = false) {
  ConvLayer shape;
  shape.batch = 4;
  shape.in = rng.integer(8, 12);
  shape.out = 4;
  shape.kernel = 2;
  shape.size = 33;
  shape.activation = rng.integer(0, 1) == 1 ? DType::int8 : DType::uint8;
  return random_layer(rng, true, shape, one_sided);
}

Judged judge_layer(const ConvLayer& layer, const Tensor& x, const std::vector<std::int64_t>& y) {
  Judged judged(layer.original(), layer.artifact());
  judged.evidence.options.activation = layer.activation;
  judged.evidence.options.per_axis = layer.weight_scale.size() > 1;
  judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
  judged.add("typical", {{"x", x}}, {{"y", layer.dequantized(y)}});
  judged.calibrate();
  return judged;
}

/// Channels of the outputs whose mean error against the original's weights lies beyond four standard errors.
int beyond_four_standard_errors(const Judged& judged, const ConvLayer& layer) {
  const Tensor& actual = judged.evidence.executions[0].outputs.at("y");
  const Tensor& expected = judged.reference[0]->at("y");
  const std::int64_t plane = layer.out_size() * layer.out_size();
  int count = 0;
  for (std::int64_t c = 0; c < layer.out; ++c) {
    double sum = 0, squares = 0;
    std::int64_t draws = 0;
    for (std::int64_t n = 0; n < layer.batch; ++n) {
      for (std::int64_t i = 0; i < plane; ++i, ++draws) {
        const std::int64_t flat = (n * layer.out + c) * plane + i;
        const double error = actual.as_real(flat) - expected.as_real(flat);
        sum += error;
        squares += error * error;
      }
    }
    const auto n = static_cast<double>(draws);
    const double mean = sum / n;
    count += std::fabs(mean) > 4 * std::sqrt((squares / n - mean * mean) / n) ? 1 : 0;
  }
  return count;
}

TEST(Moments, RaiseNoAlarmWhereFourStandardErrorsAlarmOnMostCorrectChannels) {
  constexpr int kLayers = 60;
  core::Rng rng(20211);
  int channels = 0, alarms = 0, tested = 0;
  double largest = 0;
  for (int i = 0; i < kLayers; ++i) {
    const RandomLayer random = wide_layer(rng, true);
    const ConvLayer& layer = random.layer;
    Judged judged = judge_layer(layer, random.x, layer.run(layer.input_codes(random.x), nearest_of_sums(layer)));
    channels += static_cast<int>(layer.out);
    alarms += beyond_four_standard_errors(judged, layer);
    for (const bool opaque : {false, true}) {
      judged.opaque = opaque;
      EXPECT_THAT(judged.moments(), IsEmpty()) << "layer " << i << " of seed 20211, " << (opaque ? "opaque" : "qdq");
      for (const Metric& metric : judged.judgement.metrics) {
        largest = std::max(largest, metric.value);
        ++tested;
      }
    }
  }
  const double share = 100.0 * alarms / channels;
  std::printf("  correct channels: %d; 4 standard errors alarm on %.0f %%; largest margin of ours %.2f in %d tests\n",
              channels, share, largest, tested);
  EXPECT_GT(share, 50);
  EXPECT_GT(tested, kLayers);
}

TEST(Moments, SeeEnginesThatCutAndBiasesThatAreLost) {
  core::Rng rng(404);
  int cut = 0, lost = 0, tested = 0;
  constexpr int kLayers = 40;
  for (int i = 0; i < kLayers; ++i) {
    const RandomLayer random = wide_layer(rng);
    ConvLayer layer = random.layer;
    const auto truncate = [&](std::int64_t sum, std::int64_t j) {
      return std::floor(static_cast<double>(sum) * layer.multiplier(j));
    };
    Judged truncated = judge_layer(layer, random.x, layer.run(layer.input_codes(random.x), truncate));
    cut += truncated.moments().empty() ? 0 : 1;
    layer.bias_codes.assign(layer.bias_codes.size(), 0);
    Judged unbiased =
        judge_layer(random.layer, random.x, layer.run(layer.input_codes(random.x), nearest_of_sums(layer)));
    unbiased.opaque = true;
    lost += unbiased.moments().empty() ? 0 : 1;
    ++tested;
  }
  std::printf("  of %d layers: truncation seen in %d (qdq), a lost bias in %d (opaque)\n", tested, cut, lost);
  EXPECT_GT(cut, kLayers * 9 / 10);
  EXPECT_GT(lost, kLayers * 8 / 10);
}

/// `layer` with every code cut towards zero.
ConvLayer with_cut_weights(ConvLayer layer) {
  const std::size_t products = static_cast<std::size_t>(layer.products());
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    const double scale = layer.scale_of(static_cast<std::int64_t>(i / products));
    layer.weight_codes[i] = static_cast<std::int64_t>(std::trunc(layer.weights[i] / scale));
  }
  return layer;
}

// By half a step each on average, which no mean and no variance of the outputs shows for sure.
TEST(Moments, SeeWeightsThatAreCutByTheGainThatTheyLose) {
  core::Rng rng(505);
  constexpr int kLayers = 30;
  int seen = 0;
  for (int i = 0; i < kLayers; ++i) {
    const RandomLayer random = wide_layer(rng);
    const ConvLayer cut = with_cut_weights(random.layer);
    Judged judged = judge_layer(random.layer, random.x, cut.run(cut.input_codes(random.x), nearest_of_sums(cut)));
    judged.opaque = true;
    const auto findings = judged.moments();
    seen += std::ranges::any_of(findings,
                                [](const Finding& finding) {
                                  return finding.message.find("along the gain of all weights") != std::string::npos;
                                })
                ? 1
                : 0;
  }
  std::printf("  of %d layers: cut weights seen by their gain in %d (opaque)\n", kLayers, seen);
  EXPECT_GT(seen, kLayers * 9 / 10);
}

TEST(Moments, NameTheChannelTheStatisticAndTheThreshold) {
  core::Rng rng(7);
  RandomLayer random = wide_layer(rng);
  ConvLayer layer = random.layer;
  layer.bias_codes[2] +=
      static_cast<std::int64_t>(std::lround(20 * layer.output_scale / (layer.input_scale * layer.scale_of(2))));
  Judged judged = judge_layer(random.layer, random.x, layer.run(layer.input_codes(random.x), nearest_of_sums(layer)));
  const auto findings = judged.moments();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].facet, Facet::numerics);
  EXPECT_EQ(findings[0].layer, "L2");
  EXPECT_THAT(findings[0].message, HasSubstr("tensor \"y\", channel 2, data set \"typical\": mean error "));
  EXPECT_THAT(findings[0].message, HasSubstr("threshold "));
}

TEST(Moments, SayNothingAboutFewOutputsOrOtherData) {
  core::Rng rng(8);
  const RandomLayer random = random_layer(rng);
  const ConvLayer& layer = random.layer;
  Judged few = judge_layer(layer, random.x, layer.run(layer.input_codes(random.x), nearest_of_sums(layer)));
  EXPECT_THAT(few.moments(), IsEmpty());
  EXPECT_THAT(few.judgement.metrics, IsEmpty());
  const RandomLayer wide = wide_layer(rng);
  Judged other =
      judge_layer(wide.layer, wide.x, wide.layer.run(wide.layer.input_codes(wide.x), nearest_of_sums(wide.layer)));
  other.evidence.executions[0].data_set = "wide";
  EXPECT_THAT(other.moments(), IsEmpty());
  EXPECT_THAT(other.judgement.metrics, IsEmpty());
}

}  // namespace
}  // namespace assay::judge::testing
