#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

ConvLayer::Requantize nearest(const ConvLayer& layer) {
  return [&layer](std::int64_t sum, std::int64_t j) {
    return std::nearbyint(static_cast<double>(sum) * layer.multiplier(j));
  };
}

/// The layer as its engine gives it, ready to be judged; the options are those it was quantized with.
Judged judge_layer(const ConvLayer& layer, const Tensor& x, const std::vector<std::int64_t>& y, bool symmetric) {
  Judged judged(layer.original(), layer.artifact());
  judged.evidence.options.activation = layer.activation;
  judged.evidence.options.symmetric = symmetric;
  judged.evidence.options.per_axis = layer.weight_scale.size() > 1;
  judged.add("typical", {{"x", x}}, {{"y", layer.dequantized(y)}});
  judged.calibrate();
  return judged;
}

TEST(Bounds, RaisesNoAlarmOnCorrectLayers) {
  constexpr int kLayers = 1200;
  core::Rng rng(4711);
  int alarms = 0;
  double largest = 0, largest_opaque = 0;
  for (int i = 0; i < kLayers; ++i) {
    const bool symmetric = rng.integer(0, 1) == 1;
    const RandomLayer random = random_layer(rng, !symmetric);
    const ConvLayer& layer = random.layer;
    Judged judged = judge_layer(layer, random.x, layer.run(layer.input_codes(random.x), nearest(layer)), symmetric);
    for (const bool opaque : {false, true}) {
      judged.opaque = opaque;
      const auto findings = judged.bounds();
      EXPECT_THAT(judged.judgement.layers, ::testing::ElementsAre("L2"));
      (opaque ? largest_opaque : largest) =
          std::max(opaque ? largest_opaque : largest, judged.judgement.margin.value_or(0));
      if (!findings.empty()) {
        ++alarms;
        ADD_FAILURE() << "layer " << i << " of seed 4711, " << (opaque ? "opaque" : "qdq") << ": "
                      << findings[0].message;
      }
    }
  }
  EXPECT_EQ(alarms, 0);
  std::printf("  largest margin of %d correct layers: qdq %.3f, opaque %.3f\n", kLayers, largest, largest_opaque);
}

TEST(Bounds, CatchesSeededConversionDefects) {
  struct Defect {
    const char* name;
    std::function<void(ConvLayer&)> spoil;
    int least_percent, least_opaque_percent;
  };
  const std::vector<Defect> defects{
      {"one channel's weight scale doubled", [](ConvLayer& l) { l.weight_scale[0] = float32(l.weight_scale[0] * 2); },
       85, 50},
      {"bias dropped", [](ConvLayer& l) { l.bias_codes.assign(l.bias_codes.size(), 0); }, 85, 60},
      {"weight scales rolled",
       [](ConvLayer& l) { std::rotate(l.weight_scale.begin(), l.weight_scale.begin() + 1, l.weight_scale.end()); }, 85,
       50},
      {"weight codes truncated to even",
       [](ConvLayer& l) {
         for (auto& code : l.weight_codes) code = code / 8 * 8;
       },
       40, 5},
      {"output scale halved", [](ConvLayer& l) { l.output_scale = float32(l.output_scale / 2); }, 85, 80},
      {"output scale doubled", [](ConvLayer& l) { l.output_scale = float32(l.output_scale * 2); }, 50, 5},
      {"input scale halved", [](ConvLayer& l) { l.input_scale = float32(l.input_scale / 2); }, 85, 50},
      {"one output channel negated",
       [](ConvLayer& l) {
         const auto per = static_cast<std::size_t>(l.products());
         for (std::size_t k = 0; k < per; ++k) l.weight_codes[k] = -l.weight_codes[k];
       },
       85, 60},
  };
  for (const Defect& defect : defects) {
    core::Rng rng(99);
    int visible = 0, caught = 0, caught_opaque = 0;
    for (int i = 0; i < 120; ++i) {
      const RandomLayer random = random_layer(rng);
      const ConvLayer& right = random.layer;
      ConvLayer wrong = right;
      defect.spoil(wrong);
      const auto y_right = right.dequantized(right.run(right.input_codes(random.x), nearest(right)));
      const auto codes = wrong.run(wrong.input_codes(random.x), nearest(wrong));
      if (wrong.dequantized(codes) == y_right) {
        continue;
      }
      ++visible;
      Judged judged = judge_layer(wrong, random.x, codes, false);
      caught += judged.bounds().empty() ? 0 : 1;
      judged.opaque = true;
      caught_opaque += judged.bounds().empty() ? 0 : 1;
    }
    std::printf("  %s: of %d that change an output, caught %d with the artifact, %d by the outputs alone\n",
                defect.name, visible, caught, caught_opaque);
    EXPECT_GE(caught * 100, visible * defect.least_percent) << defect.name;
    EXPECT_GE(caught_opaque * 100, visible * defect.least_opaque_percent) << defect.name;
  }
}

}  // namespace
}  // namespace assay::judge::testing
