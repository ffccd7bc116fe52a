#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using testing::codes;
using ::testing::ElementsAre;
using testing::float32;
using testing::GemmCase;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::reals;
using Faults = std::vector<std::string>;

TEST(Audit, ACorrectArtifactHasNoFault) { EXPECT_THAT(GemmCase().faults(), IsEmpty()); }

TEST(Audit, AnInputScaleMayBeTwoUlpOffAndNoMore) {
  const double exact = 4.0 / 255;
  const double ulp = float32_ulp(exact);
  GemmCase near;
  near.set_scalar("xs", float32(exact) + 2 * ulp);
  near.constants["bs"] =
      reals({2}, {near.constants["xs"].as_real(0) * 4 / 127, near.constants["xs"].as_real(0) * 0.5 / 127});
  EXPECT_THAT(near.faults(), IsEmpty());
  GemmCase far;
  far.set_scalar("xs", float32(exact) + 4 * ulp);
  far.constants["bs"] =
      reals({2}, {far.constants["xs"].as_real(0) * 4 / 127, far.constants["xs"].as_real(0) * 0.5 / 127});
  EXPECT_THAT(far.faults(), ElementsAre("scale x"));
}

TEST(Audit, AZeroPointOneStepOffIsSeen) {
  GemmCase gemm;
  gemm.constants["yz"] = codes(core::DType::int8, {}, {-64});
  const auto findings = gemm.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::zero_point);
  EXPECT_EQ(findings[0].tensor, "y");
  EXPECT_EQ(findings[0].node, "y");
  EXPECT_THAT(findings[0].message, HasSubstr("expected zero_point -65, actual -64"));
}

TEST(Audit, AnIntermediateScaleHasOnlyItsForwardErrorAsSlack) {
  GemmCase gemm;
  gemm.set_scalar("ys", 8.625 / 255 * 1.00001);
  EXPECT_THAT(gemm.faults(), ElementsAre("scale y"));
  GemmCase within;
  within.context();
  const TensorRange& range = within.calibration->ranges.at("y");
  EXPECT_GT(range.slack, 0);
  EXPECT_LT(range.slack, 1e-4);
  within.set_scalar("ys", (8.625 + range.slack) / 255);
  EXPECT_THAT(within.faults(), IsEmpty());
}

TEST(Audit, ScalesThatAreNotPositiveAndFiniteAreFaults) {
  for (const double bad :
       {0.0, -0.01, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    GemmCase gemm;
    gemm.set_scalar("ys", bad);
    const Faults faults = gemm.faults();
    ASSERT_FALSE(faults.empty()) << bad;
    EXPECT_EQ(faults.front(), "scale y") << bad;
  }
}

TEST(Audit, SymmetricOptionsDemandZeroPointZeroAndTheDivisor) {
  GemmCase gemm;
  gemm.evidence.options.symmetric = true;
  const double xs = float32(3.0 / 127);
  gemm.set_scalar("xs", xs);
  gemm.set_scalar("ys", 6.5 / 127);
  gemm.constants["xz"] = codes(core::DType::int8, {}, {0});
  gemm.constants["yz"] = codes(core::DType::int8, {}, {0});
  gemm.constants["bs"] = reals({2}, {float32(xs * float32(4.0 / 127)), float32(xs * float32(0.5 / 127))});
  gemm.constants["bq"] = codes(core::DType::int32, {2}, {672, -10753});
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.constants["xz"] = codes(core::DType::int8, {}, {1});
  EXPECT_THAT(gemm.faults(), ElementsAre("zero_point x"));
  gemm.constants["xz"] = codes(core::DType::int8, {}, {0});
  gemm.evidence.converter.policy.divisor = 128;
  EXPECT_THAT(gemm.faults(), ElementsAre("scale x", "scale y", "scale w"));
}

TEST(Audit, WeightCodesAreTheNearestOfTheirScale) {
  GemmCase gemm;
  gemm.constants["wq"] = codes(core::DType::int8, {2, 3}, {31, 64, -127, 127, -64, 32});  // 1/(4/127) = 31.75
  const auto findings = gemm.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::weight);
  EXPECT_THAT(findings[0].message, HasSubstr("w[0,0]: expected 32"));
  EXPECT_THAT(findings[0].message, HasSubstr("1 of 6 codes"));
}

TEST(Audit, ATieOfAWeightMayGoEitherWay) {
  // -0.25 / (0.5/127) = -63.5
  for (const std::int64_t code : {-63, -64}) {
    GemmCase gemm;
    gemm.constants["wq"] = codes(core::DType::int8, {2, 3}, {32, 64, -127, 127, code, 32});
    EXPECT_THAT(gemm.faults(), IsEmpty()) << code;
  }
  GemmCase gemm;
  gemm.constants["wq"] = codes(core::DType::int8, {2, 3}, {32, 64, -127, 127, -62, 32});
  EXPECT_THAT(gemm.faults(), ElementsAre("weight w"));
}

TEST(Audit, WeightScalesRolledAlongTheirAxisAreSeen) {
  GemmCase gemm;
  gemm.constants["ws"] = reals({2}, {float32(0.5 / 127), float32(4.0 / 127)});
  const Faults faults = gemm.faults();
  EXPECT_THAT(faults, ::testing::Contains("scale w"));
  EXPECT_THAT(faults, ::testing::Contains("weight w"));
}

TEST(Audit, ShowsWhatItExpectsOfAWeightAndNothingByTheRulesOfActivations) {
  GemmCase gemm;
  const double w0 = float32(4.0 / 127), w1 = float32(0.5 / 127);
  gemm.constants["ws"] = reals({2}, {w1, w0});
  LayerContext context = gemm.context();
  for (const auto& [name, range] : gemm.calibration->ranges) {
    context.audited.emplace(name, derive_params(range.low, range.high, core::DType::int8, false, {}));
  }
  Explanation explanation;
  context.explanation = &explanation;
  explanation.tensors = tensor_parameters(context);
  Judgement out;
  EXPECT_FALSE(audit_parameters(context, *gemm.calibration, out).empty());
  std::map<std::string, std::optional<core::QuantParams>> expected;
  for (const TensorParameters& tensor : explanation.tensors) expected[tensor.tensor] = tensor.expected;
  ASSERT_TRUE(expected.at("w"));
  EXPECT_THAT(expected.at("w")->scale, ElementsAre(w0, w1));
  EXPECT_FALSE(expected.at("b"));
  ASSERT_TRUE(expected.at("y"));
  EXPECT_NEAR(expected.at("y")->scale.front(), 8.625 / 255, 1e-8);
}

TEST(Audit, TheWrongAxisOfAWeightIsNamed) {
  GemmCase gemm;
  gemm.artifact_text.replace(gemm.artifact_text.find("<axis=0>"), 8, "<axis=1>");
  gemm.constants["ws"] = reals({3}, {float32(1.0 / 127), float32(2.0 / 127), float32(4.0 / 127)});
  gemm.constants["wz"] = codes(core::DType::int8, {3}, {0, 0, 0});
  const auto findings = gemm.audit();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].facet, Facet::axis);
  EXPECT_THAT(findings[0].message, HasSubstr("expected 2 scales along axis 0"));
  EXPECT_THAT(findings[0].message, HasSubstr("actual 3 along axis 1"));
}

TEST(Audit, OneScaleForAllIsSeenOnlyUnderPerAxisOptions) {
  GemmCase gemm;
  const double w = float32(4.0 / 127), xs = float32(4.0 / 255);
  gemm.constants["ws"] = testing::Tensor::scalar(core::DType::float32, w);
  gemm.constants["wz"] = codes(core::DType::int8, {}, {0});
  gemm.constants["wq"] = codes(core::DType::int8, {2, 3}, {32, 64, -127, 16, -8, 4});
  gemm.constants["bs"] = testing::Tensor::scalar(core::DType::float32, float32(xs * w));
  gemm.constants["bq"] = codes(core::DType::int32, {2}, {1012, -2024});
  EXPECT_THAT(gemm.faults(), ElementsAre("count w"));
  gemm.evidence.converter.policy.whole_weights = {"MatMul"};
  EXPECT_THAT(gemm.faults(), ElementsAre("count w")) << "of another operator";
  gemm.evidence.converter.policy.whole_weights = {"Gemm"};
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.evidence.converter.policy.whole_weights.clear();
  gemm.evidence.options.per_axis = false;
  EXPECT_THAT(gemm.faults(), IsEmpty());
}

TEST(Audit, SeveralScalesUnderPerTensorOptionsAreSeen) {
  GemmCase gemm;
  gemm.evidence.options.per_axis = false;
  EXPECT_THAT(gemm.faults(), ElementsAre("count w"));
  gemm.evidence.options.per_axis = true;
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.evidence.converter.policy.whole_weights = {"Gemm"};
  EXPECT_THAT(gemm.faults(), ElementsAre("count w")) << "the policy says one";
}

// ONNX Runtime's symmetric uint8 weights: the greatest code stays unused, and zero is 127.
TEST(Audit, UnsignedWeightsMayHaveZeroOneBelowTheMiddle) {
  GemmCase gemm;
  gemm.evidence.options.weight = core::DType::uint8;
  gemm.constants["wz"] = codes(core::DType::uint8, {2}, {127, 127});
  gemm.constants["wq"] = codes(core::DType::uint8, {2, 3}, {159, 191, 0, 254, 63, 159});
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.constants["wz"] = codes(core::DType::uint8, {2}, {126, 126});
  EXPECT_THAT(gemm.faults(), ::testing::Not(IsEmpty()));
}

TEST(Audit, TheBiasHasTheProductOfTheScales) {
  GemmCase gemm;
  gemm.constants["bs"] = reals({2}, {float32(4.0 / 127), float32(0.5 / 127)});
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b"));
}

// Scales along the summed axis: 1/127, 2/127 and 4/127 for the weight's columns. A sum of products that differ in scale
// has none of its own, so that the bias can't be asked for s_x·s_w; what is wrong is the axis.
TEST(Audit, NoScaleIsAskedOfABiasWhereTheWeightHasThemAlongTheSummedAxis) {
  GemmCase gemm;
  const std::string with = "DequantizeLinear<axis=0>(wq";
  gemm.artifact_text.replace(gemm.artifact_text.find(with), with.size(), "DequantizeLinear<axis=1>(wq");
  gemm.constants["ws"] = reals({3}, {float32(1.0 / 127), float32(2.0 / 127), float32(4.0 / 127)});
  gemm.constants["wz"] = codes(core::DType::int8, {3}, {0, 0, 0});
  gemm.constants["wq"] = codes(core::DType::int8, {2, 3}, {127, 127, -127, 64, -16, 4});
  gemm.constants["bs"] = reals({2}, {0.25, 0.25});
  gemm.constants["bq"] = codes(core::DType::int32, {2}, {2, -4});
  EXPECT_THAT(gemm.faults(), ElementsAre("axis w"));
}

TEST(Audit, ABiasCodeIsTheNearest) {
  GemmCase gemm;
  gemm.constants["bq"] = codes(core::DType::int32, {2}, {1013, -16192});
  const auto findings = gemm.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::bias);
  EXPECT_THAT(findings[0].message, HasSubstr("1 of 2 channels"));
  gemm.evidence.converter.policy.bias = converters::BiasRounding::corrected;
  EXPECT_THAT(gemm.faults(), IsEmpty());
}

TEST(Audit, ADroppedBiasIsSeenAndAnAllZeroOneMayGo) {
  GemmCase gemm;
  const std::string with = "Gemm<transB=1>(xd, wd, bd)";
  gemm.artifact_text.replace(gemm.artifact_text.find(with), with.size(), "Gemm<transB=1>(xd, wd)");
  const auto findings = gemm.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::bias);
  EXPECT_THAT(findings[0].message, HasSubstr("expected 0.5 for channel 0, but the artifact has none"));
}

TEST(Audit, ABiasLeftInFloatIsComparedDirectly) {
  GemmCase gemm;
  const std::string with = "bd)";
  gemm.artifact_text.replace(gemm.artifact_text.find(with), with.size(), "bias_float)");
  gemm.constants["bias_float"] = reals({2}, {0.5, -1});
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.constants["bias_float"] = reals({2}, {0.5, -1.001});
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b"));
}

TEST(Audit, GemmBetaBelongsToTheEffectiveBias) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { y = Gemm<transB=1, beta=2.0>(x, w, b) }";
  gemm.weights["b"] = reals({2}, {0.25, -0.5});
  EXPECT_THAT(gemm.faults(), IsEmpty()) << "2·b was put into the bias codes";
  gemm.constants["bq"] = codes(core::DType::int32, {2}, {506, -8096});
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b"));
}

TEST(Audit, AQuantizedTensorIsReadWithTheParametersThatMadeIt) {
  GemmCase gemm;
  gemm.artifact_text.replace(gemm.artifact_text.find("DequantizeLinear(xq, xs, xz)"), 28,
                             "DequantizeLinear(xq, xs2, xz)");
  gemm.set_scalar("xs2", 4.0 / 127);
  const auto findings = gemm.audit();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].facet, Facet::scale);
  EXPECT_THAT(findings[0].message, HasSubstr("is quantized with scale"));
}

TEST(Audit, TheWrongTypeOfCodesIsADtypeFault) {
  GemmCase gemm;
  gemm.constants["xz"] = codes(core::DType::uint8, {}, {64});
  EXPECT_THAT(gemm.faults(), ElementsAre("dtype x"));
  gemm.evidence.options.activation = core::DType::uint8;
  gemm.constants["yz"] = codes(core::DType::uint8, {}, {63});
  EXPECT_THAT(gemm.faults(), IsEmpty());
}

TEST(Audit, AConverterTableThatContradictsItsArtifactIsAFault) {
  GemmCase gemm;
  gemm.evidence.conversion.tensors = {{"x", {{float32(4.0 / 255)}, {-64}, core::DType::int8, {}}}};
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.evidence.conversion.tensors[0].params.zero_point = {0};
  EXPECT_THAT(gemm.faults(), ElementsAre("scale x"));
}

TEST(Audit, ACaseMayDemandScalesByTensor) {
  GemmCase gemm;
  gemm.test_case.expect.scales["w"] = {0, 2, {}, {}};
  gemm.test_case.expect.scales["y"] = {{}, 1, {}, -65};
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.test_case.expect.scales["w"] = {1, 3, {}, {}};
  EXPECT_THAT(gemm.faults(), ElementsAre("count w"));
  gemm.test_case.expect.scales["w"] = {1, 2, {}, {}};
  EXPECT_THAT(gemm.faults(), ElementsAre("axis w"));
  gemm.test_case.expect.scales.clear();
  gemm.test_case.expect.scales["nowhere"] = {};
  EXPECT_THAT(gemm.faults(), ElementsAre("scale nowhere"));
}

TEST(Audit, ACaseMayDemandALeastScale) {
  GemmCase gemm;
  gemm.test_case.expect.scales["y"] = {{}, {}, {}, {}, 8.6 / 255};  // its own is 8.625 / 255
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.test_case.expect.scales["y"] = {{}, {}, {}, {}, 8.7 / 255};
  EXPECT_THAT(gemm.faults(), ElementsAre("scale y"));
  gemm.test_case.expect.scales.clear();
  gemm.test_case.expect.scales["nowhere"] = {{}, {}, {}, {}, 8.7 / 255};
  EXPECT_THAT(gemm.faults(), IsEmpty()) << "what has no scale is cut nowhere";
}

TEST(Audit, WhoTellsActivationsAloneIsAskedForNoScaleOfAWeight) {
  GemmCase gemm;
  gemm.weights["u"] = reals({1}, {1});  // no quantizer stands behind it
  gemm.test_case.expect.scales["u"] = {};
  gemm.evidence.converter.supports.reports = {"tensors"};
  EXPECT_THAT(gemm.faults(), ElementsAre("scale u"));
  gemm.evidence.converter.supports.reports = {"activations"};
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.test_case.expect.scales["nowhere"] = {};
  EXPECT_THAT(gemm.faults(), ElementsAre("scale nowhere"));
}

TEST(Audit, AdaptedWeightsAreNotComparedByCode) {
  GemmCase gemm;
  gemm.constants["wq"] = codes(core::DType::int8, {2, 3}, {31, 64, -127, 127, -64, 32});
  gemm.evidence.converter.policy.weights = converters::WeightRounding::adapted;
  EXPECT_THAT(gemm.faults(), IsEmpty());
}

TEST(Audit, AFixedRangeOfThePolicyReplacesTheCalibratedOne) {
  GemmCase gemm;
  gemm.evidence.converter.policy.fixed_ranges["Gemm"] = {-8, 8};
  EXPECT_THAT(gemm.faults(), ElementsAre("scale y"));
  gemm.set_scalar("ys", 16.0 / 255);
  gemm.constants["yz"] = codes(core::DType::int8, {}, {0});
  EXPECT_THAT(gemm.faults(), IsEmpty());
}

TEST(Audit, AveragingRelaxesTheEndsToTheMildestSample) {
  GemmCase gemm;
  gemm.batches = {{{"x", reals({2, 3}, {-1, 3, 1, 2, 0, -1})}}, {{"x", reals({2, 3}, {-0.5, 1, 1, 1, 0, -0.5})}}};
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.set_scalar("xs", 3.0 / 255);  // the mean of [-1, 3] and about [-0.5, 1]
  gemm.constants["xz"] = codes(core::DType::int8, {}, {-65});
  gemm.constants["bs"] = reals({2}, {float32(3.0 / 255 * 4 / 127), float32(3.0 / 255 * 0.5 / 127)});
  gemm.constants["bq"] = codes(core::DType::int32, {2}, {1349, -21590});
  EXPECT_THAT(gemm.faults(), ElementsAre("scale x"));
  gemm.evidence.converter.policy.averaging = converters::Averaging::per_sample;
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.set_scalar("xs", 4.1 / 255);
  EXPECT_THAT(gemm.faults(), ::testing::Contains("scale x"));
}

TEST(Audit, ValuesThatAreNotFiniteGiveNoRangeToCompareWith) {
  GemmCase gemm;
  gemm.batches[0]["x"] = reals({2, 3}, {-1, 3, 1, 2, 0, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_THAT(gemm.faults(), IsEmpty());
}

}  // namespace
}  // namespace assay::judge
