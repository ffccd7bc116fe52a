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

constexpr double kRounding = 1e-12;

Tensor transformed(const Tensor& x, const Attributes& attributes) { return first_output("DFT", {x}, attributes, 17); }

TEST(DFT, OfAnImpulseIsFlat) {
  EXPECT_THAT(transformed(reals({1, 4, 1}, {1, 0, 0, 0}), {}).to_reals(),
              Pointwise(DoubleNear(kRounding), Reals{1, 0, 1, 0, 1, 0, 1, 0}));
}

TEST(DFT, TurnsClockwise) {
  // x[n] = δ(n - 1): exp(-2πj k / 4) = 1, -j, -1, j.
  EXPECT_THAT(transformed(reals({1, 4, 1}, {0, 1, 0, 0}), {}).to_reals(),
              Pointwise(DoubleNear(kRounding), Reals{1, 0, 0, -1, -1, 0, 0, 1}));
}

TEST(DFT, InverseOfOneSideIsTheRealSignal) {
  const Attributes onesided{{"onesided", std::int64_t{1}}};
  const Attributes back{{"onesided", std::int64_t{1}}, {"inverse", std::int64_t{1}}};
  for (const std::int64_t length : {4, 5}) {
    const Tensor x = counting({1, length, 1}, 1, 0.5);
    const Tensor spectrum =
        first_output("DFT", {x, scalar(DType::int64, length), scalar(DType::int64, 1)}, onesided, 20);
    EXPECT_EQ(spectrum.shape(), (Shape{1, length / 2 + 1, 2}));
    const Tensor again =
        first_output("DFT", {spectrum, scalar(DType::int64, length), scalar(DType::int64, 1)}, back, 20);
    EXPECT_EQ(again.shape(), x.shape());
    EXPECT_THAT(again.to_reals(), Pointwise(DoubleNear(kRounding), x.to_reals()));
  }
}

TEST(DFT, CutsOrContinuesToItsLength) {
  const Tensor x = reals({1, 3, 1}, {1, 2, 4});
  EXPECT_THAT(first_output("DFT", {x, scalar(DType::int64, 2)}, {}, 17).to_reals(),
              Pointwise(DoubleNear(kRounding), Reals{3, 0, -1, 0}));
  EXPECT_EQ(first_output("DFT", {x, scalar(DType::int64, 5)}, {}, 17).shape(), (Shape{1, 5, 2}));
}

TEST(DFT, RefusesTheAxisOfParts) {
  EXPECT_THAT(error_of("DFT", {reals({1, 3, 1}, {1, 2, 4})}, {{"axis", std::int64_t{2}}}, 17), HasSubstr("last axis"));
}

TEST(STFT, TransformsWindowedFrames) {
  const Tensor signal = reals({1, 4, 1}, {1, 2, 3, 4});
  const Tensor window = reals({2}, {1, 10});
  // Frames 1, 20 and 3, 40: their sums and differences.
  const Tensor y = first_output("STFT", {signal, scalar(DType::int64, 2), window}, {}, 17);
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_THAT(y.to_reals(), Pointwise(DoubleNear(kRounding), Reals{21, 0, -19, 0, 43, 0, -37, 0}));
}

// ONNX's text has [batch, length, 1]; ONNX Runtime 1.23.2 computes the same without the last axis.
TEST(STFT, TakesRealSignalsWithoutAnAxisOfParts) {
  const Tensor window = reals({2}, {1, 10});
  const Tensor y = first_output("STFT", {reals({1, 4}, {1, 2, 3, 4}), scalar(DType::int64, 2), window}, {}, 17);
  EXPECT_EQ(y, first_output("STFT", {reals({1, 4, 1}, {1, 2, 3, 4}), scalar(DType::int64, 2), window}, {}, 17));
}

TEST(HannWindow, IsPeriodicByDefault) {
  EXPECT_THAT(first_output("HannWindow", {scalar(DType::int64, 4)}).to_reals(),
              Pointwise(DoubleNear(kRounding), Reals{0, 0.5, 1, 0.5}));
  EXPECT_THAT(first_output("HannWindow", {scalar(DType::int64, 5)}, {{"periodic", std::int64_t{0}}}).to_reals(),
              Pointwise(DoubleNear(kRounding), Reals{0, 0.5, 1, 0.5, 0}));
}

TEST(HammingWindow, EndsAboveZero) {
  EXPECT_THAT(first_output("HammingWindow", {scalar(DType::int64, 2)}).to_reals(),
              Pointwise(DoubleNear(kRounding), Reals{4.0 / 46.0, 1}));
}

TEST(BlackmanWindow, HasASecondCosine) {
  EXPECT_THAT(first_output("BlackmanWindow", {scalar(DType::int64, 4)}).to_reals(),
              Pointwise(DoubleNear(kRounding), Reals{0, 0.34, 1, 0.34}));
}

TEST(MelWeightMatrix, RisesToOneAtEachTrianglesCenter) {
  const Tensor y = first_output("MelWeightMatrix", {scalar(DType::int64, 2), scalar(DType::int64, 16),
                                                    scalar(DType::int64, 8000), scalar(0), scalar(4000)});
  ASSERT_EQ(y.shape(), (Shape{9, 2}));
  for (std::int64_t band = 0; band < 2; ++band) {
    double largest = 0.0;
    for (std::int64_t bin = 0; bin < 9; ++bin) largest = std::max(largest, y.as_real(bin * 2 + band));
    EXPECT_EQ(largest, 1.0);
  }
}

}  // namespace
}  // namespace assay::reference
