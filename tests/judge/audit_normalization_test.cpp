// Rules of L0 for what a normalization keeps of its constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/judge/alignment/renormalized.hpp"
#include "harness/judge/audit/normalization_limits.hpp"
#include "harness/judge/quantization/quantization_plan.hpp"
#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::brief;
using testing::codes;
using ::testing::ElementsAre;
using testing::float32;
using testing::GemmCase;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::reals;

// γ/√(variance) = 2 and β − mean·2 = 0.8 − 2·0.4 = 0: with a mean of 0 in the artifact, 0 is the bias; with the
// original's it stays 0.8.
TEST(AuditNormalizations, AMeanThatMovedIntoTheBiasIsTheSameNormalization) {
  const auto faults = [](double mean, std::int64_t bias) {
    GemmCase norm;
    norm.original_text =
        "g (float[1,1,2] x) => (float[1,1,2] y) { y = BatchNormalization<epsilon=0.0>(x, w, b, m, v) }";
    norm.weights = {{"w", reals({1}, {4})}, {"b", reals({1}, {0.8})}, {"m", reals({1}, {0.4})}, {"v", reals({1}, {4})}};
    norm.batches = {{{"x", reals({1, 1, 2}, {-1, 3})}}};
    norm.artifact_text =
        "a (float[1,1,2] x) => (float[1,1,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " bd = DequantizeLinear(bq, bs) y = BatchNormalization<epsilon=0.0>(xd, w, bd, m, v) }";
    norm.set_scalar("bs", float32(0.8 / 127));
    norm.constants["bq"] = codes(DType::int32, {1}, {bias});
    norm.constants.insert({{"w", reals({1}, {4})}, {"m", reals({1}, {mean})}, {"v", reals({1}, {4})}});
    const LayerContext plain = norm.context();
    if (const auto form = renormalized(norm.original, norm.evidence.artifact)) norm.original = form->model;
    norm.view.emplace(ArtifactView::build(norm.evidence.artifact, norm.original).value());
    const LayerContext context{norm.evidence, &*norm.view, align(norm.evidence, &*norm.view), {}, plain.ranges, {},
                               1000};
    std::vector<Finding> found = audit_normalizations(context);
    std::ranges::move(audit_constants(context), std::back_inserter(found));
    return brief(found);
  };
  EXPECT_THAT(faults(0.4, 127), IsEmpty());
  EXPECT_THAT(faults(0, 0), IsEmpty());
  EXPECT_THAT(faults(0, 127), ElementsAre("weight m")) << "the mean is gone, and the bias doesn't know";
  EXPECT_THAT(faults(0.4, 0), ElementsAre("bias b"));
}

// b = {0.8, -0.5}: 8 bits over ±0.8 have steps of 0.8/127 = 0.0063, half of one is 0.00315.
TEST(AuditNormalizations, ABiasKeepsAtLeastEightBits) {
  const auto faults = [](double step) {
    GemmCase norm;
    norm.original_text = "g (float[1,2,2] x) => (float[1,2,2] y) { y = InstanceNormalization(x, w, b) }";
    norm.weights = {{"w", reals({2}, {1, 0.5})}, {"b", reals({2}, {0.8, -0.5})}};
    norm.batches = {{{"x", reals({1, 2, 2}, {-1, 3, 1, 2})}}};
    norm.artifact_text =
        "a (float[1,2,2] x) => (float[1,2,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " bd = DequantizeLinear(bq, bs) y = InstanceNormalization(xd, w, bd) }";
    norm.set_scalar("bs", float32(step));
    norm.constants["w"] = norm.weights["w"];
    norm.constants["bq"] = codes(DType::int32, {2}, {std::lround(0.8 / step), std::lround(-0.5 / step)});
    return brief(audit_normalizations(norm.context()));
  };
  EXPECT_THAT(faults(1e-9), IsEmpty());
  EXPECT_THAT(faults(0.8 / 127), IsEmpty());
  EXPECT_THAT(faults(0.32), ElementsAre("bias b"));
}

/// A BatchNormalization of which the artifact quantizes scale and variance, each with one step for both channels.
struct NormalizedCase : GemmCase {
  NormalizedCase(const std::vector<double>& variance, double variance_step, double scale_step = 1e-6) {
    original_text = "g (float[1,2,2] x) => (float[1,2,2] y) { y = BatchNormalization<epsilon=0.0001>(x, w, b, m, v) }";
    const std::vector<double> scale{2, 1};
    weights = {
        {"w", reals({2}, scale)}, {"b", reals({2}, {0, 0})}, {"m", reals({2}, {0, 0})}, {"v", reals({2}, variance)}};
    batches = {{{"x", reals({1, 2, 2}, {-1, 3, 1, 2})}}};
    artifact_text =
        "a (float[1,2,2] x) => (float[1,2,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " wd = DequantizeLinear(nq, ns) vd = DequantizeLinear(vq, vs)"
        " y = BatchNormalization<epsilon=0.0001>(xd, wd, b, m, vd) }";
    const auto quantize = [&](const char* codes_name, const char* scale_name, const std::vector<double>& values,
                              double step) {
      set_scalar(scale_name, step);
      constants[codes_name] = codes(DType::int32, {2}, {std::lround(values[0] / step), std::lround(values[1] / step)});
    };
    quantize("nq", "ns", scale, scale_step);
    quantize("vq", "vs", variance, variance_step);
    for (const char* name : {"b", "m"}) constants[name] = weights[name];
  }
  std::vector<Finding> findings() { return audit_normalizations(context()); }
};

// Scales 2 and 1: 8 bits have steps of 2/127 = 0.0157.
TEST(AuditNormalizations, AScaleKeepsAtLeastEightBits) {
  EXPECT_THAT(NormalizedCase({1, 1}, 1e-6, 2.0 / 127).findings(), IsEmpty());
  EXPECT_THAT(brief(NormalizedCase({1, 1}, 1e-6, 0.3).findings()), ElementsAre("weight w"));
}

// Gains of 8 bits make a noise of half a step of 2/127 of the largest, 0.0079, times each channel's deviation.
TEST(AuditNormalizations, AVarianceKeepsWhatGainsOfEightBitsWould) {
  // 1.5 as 190 codes of 2/255 and 2 as 255: gains of 1.633 and 0.707 become 1.635 and 0.707.
  EXPECT_THAT(NormalizedCase({1.5, 2}, 2.0 / 255).findings(), IsEmpty());
  // 0.01 of 100 is no code but zero, and √(variance + epsilon) a tenth of what it was.
  const auto lost = NormalizedCase({0.01, 100}, 100.0 / 255).findings();
  ASSERT_THAT(brief(lost), ElementsAre("weight v"));
  EXPECT_THAT(lost[0].message, HasSubstr("200 in place of 19.9"));
  // 1.2 becomes 3 codes of 0.392, 1.176: a gain of 1.844 in place of 1.826, off by 0.018; 8 bits leave 0.0072 there.
  // The other channel's gain is exact: its deviation of 10 makes room for what is 10/1.1 times as much.
  EXPECT_THAT(NormalizedCase({1.2, 100}, 100.0 / 255).findings(), IsEmpty());
  EXPECT_THAT(NormalizedCase({1.2, 1.2}, 100.0 / 255).findings(), ::testing::SizeIs(1));
  // Enough codes for any.
  EXPECT_THAT(NormalizedCase({0.01, 100}, 1e-6).findings(), IsEmpty());
}

TEST(AuditNormalizations, AVarianceIsGrantedNoMoreThanItMayLose) {
  NormalizedCase lost({0.01, 100}, 100.0 / 255);
  const LayerContext context = lost.context();
  const QuantizationPlan plan(context);
  const Enclosure& variance = plan.constants(0).inputs.at(kVariance);
  EXPECT_GT(variance.low_or_centre().reals()[0], 0.0098);
  EXPECT_LT(variance.high_or_centre().reals()[0], 0.0102);
}

}  // namespace
}  // namespace assay::judge
