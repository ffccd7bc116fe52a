// Why the expected failures of suites/onnx-node.json are faults of the stored data.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "harness/core/tensor.hpp"

namespace assay::conformance {
namespace {

// x = 0.5 over the float32 scale 5/255 is 25.4999992, which float32 can't tell from the tie 25.5: the stored code
// comes from a division in float32, ours from the exact quotient.
TEST(StoredExpectations, TheDynamicQuantizationTieIsWithinOneRoundingOfFloat32) {
  const auto scale = static_cast<double>(5.0F / 255.0F);
  EXPECT_LT(0.5 / scale, 25.5);
  EXPECT_LE(25.5 - 0.5 / scale, 25.5 * 0x1p-24);
  EXPECT_EQ(0.5F / (5.0F / 255.0F), 25.5F);
}

// The model itself holds pi in float32; the stored values are off by up to 6e-5, far beyond any rounding.
TEST(StoredExpectations, TheWindowsTakeThirtyOneFourHundredFifteenForPi) {
  const double stored = 0.09548607468605042;  // element 1 of test_hannwindow_expanded: sin^2(pi / 10)
  EXPECT_NEAR(std::pow(std::sin(3.1415 / 10.0), 2), stored, 0x1p-24);
  EXPECT_GT(std::abs(std::pow(std::sin(std::numbers::pi / 10.0), 2) - stored), 5e-6);
}

// Element [0,1] of test_cast_FLOAT_to_BFLOAT16: Cast's table says "round to nearest", the stored bits are cut off.
TEST(StoredExpectations, TheBfloat16CodesAreCutOff) {
  const double value = 0.48033667;
  EXPECT_EQ(core::round_to_type(value, core::DType::bfloat16), 0.48046875);
  EXPECT_LT(0.48046875 - value, value - 0.478515625);
}

// These expectations were typed in with four digits; the exact values lie next to each other in all of them.
TEST(StoredExpectations, FourDigitsAreNotEnough) {
  struct Typed {
    double stored, exact;
  };
  constexpr Typed kGridSampleBicubic{-0.1406, -0.140625};
  constexpr Typed kRoiAlignFalse{0.4466, 0.4465526278945618};
  constexpr Typed kRoiAlignTrue{0.4474, 0.44736193403485236};
  constexpr Typed kAveragePool{0.1511, (0.858 + 0.0786 + 0.2692 + 0.1537) / 9.0};  // the sum of one window
  for (const Typed& each : {kGridSampleBicubic, kRoiAlignFalse, kRoiAlignTrue, kAveragePool}) {
    EXPECT_EQ(std::round(each.exact * 1e4), std::round(each.stored * 1e4));
    EXPECT_GT(std::abs(each.exact - each.stored), 100 * 0x1p-24 * std::abs(each.stored));
  }
}

// Bin 0 of test_roialign_mode_max samples four points; "the value of the sampled locations are computed directly
// through bilinear interpolation" (RoiAlign-22), of which the largest is 0.5671. The stored value is the largest single
// corner times its weight, that of an element of the input which no sample is equal to.
TEST(StoredExpectations, TheLargestOfRoiAlignIsOfWeightedCornersNotOfSamples) {
  struct Sample {
    std::array<double, 4> corners;
    double down, along;
  };
  const std::array<Sample, 4> samples{
      Sample{{0.2764, 0.7150, 0.9637, 0.0895}, 0.45, 0.45}, Sample{{0.7150, 0.1958, 0.0895, 0.2919}, 0.45, 0.35},
      Sample{{0.9637, 0.0895, 0.3265, 0.8479}, 0.35, 0.45}, Sample{{0.0895, 0.2919, 0.8479, 0.9698}, 0.35, 0.35}};
  double largest_sample = 0.0;
  double largest_corner = 0.0;
  for (const Sample& each : samples) {
    const std::array<double, 4> weights{(1 - each.down) * (1 - each.along), (1 - each.down) * each.along,
                                        each.down * (1 - each.along), each.down * each.along};
    double sum = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i] * each.corners[i];
      largest_corner = std::max(largest_corner, weights[i] * each.corners[i]);
    }
    largest_sample = std::max(largest_sample, sum);
  }
  EXPECT_NEAR(largest_corner, 0.3445228040218353, 1e-6);  // what is stored, from inputs of four digits
  EXPECT_NEAR(largest_sample, 0.5670969950221479, 1e-6);  // what the reference gives
}

}  // namespace
}  // namespace assay::conformance
