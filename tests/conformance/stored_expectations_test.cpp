// Why the expected failures of suites/onnx-node.json are faults of the stored data.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::conformance
