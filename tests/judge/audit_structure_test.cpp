#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using ::testing::ElementsAre;
using testing::float32;
using testing::GemmCase;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::reals;
using testing::Tensor;

Tensor scalar_tensor(double value) { return Tensor::scalar(DType::float32, float32(value)); }

/// y = Concat(a, b) with a in [-1, 1] and b in [-5, 8].
struct ConcatCase : GemmCase {
  ConcatCase() {
    original_text = "g (float[2] a, float[2] b) => (float[4] y) { y = Concat<axis=0>(a, b) }";
    weights.clear();
    batches = {{{"a", reals({2}, {-1, 1})}, {"b", reals({2}, {-5, 8})}}};
    artifact_text =
        "a (float[2] a, float[2] b) => (float[4] y) { aq = QuantizeLinear(a, as, az) ad = DequantizeLinear(aq, as, az)"
        " bq = QuantizeLinear(b, bs, bz) bd = DequantizeLinear(bq, bs, bz) c = Concat<axis=0>(ad, bd)"
        " yq = QuantizeLinear(c, ys, yz) y = DequantizeLinear(yq, ys, yz) }";
    constants = {{"as", scalar_tensor(2.0 / 255)},  {"az", codes(DType::int8, {}, {0})},
                 {"bs", scalar_tensor(13.0 / 255)}, {"bz", codes(DType::int8, {}, {-30})},
                 {"ys", scalar_tensor(13.0 / 255)}, {"yz", codes(DType::int8, {}, {-30})}};
  }
};

TEST(AuditStructure, AConcatThatCoversItsBranchesIsFine) { EXPECT_THAT(ConcatCase().faults(), IsEmpty()); }

TEST(AuditStructure, AConcatWithItsFirstOperandsScaleIsAFault) {
  ConcatCase concat;
  concat.constants["ys"] = concat.constants["as"];
  concat.constants["yz"] = concat.constants["az"];
  EXPECT_THAT(concat.faults(), ElementsAre("scale y"));
}

/// Under entropy: a note while the narrower range costs nothing that the data show, a fault when it does.
TEST(AuditStructure, ANarrowConcatIsWeighedByItsErrorUnderOtherMethods) {
  ConcatCase concat;
  concat.evidence.options.method = converters::Method::entropy;
  concat.constants["ys"] = scalar_tensor(6.0 / 255);
  concat.constants["yz"] = codes(DType::int8, {}, {0});
  auto findings = concat.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].amber);
  EXPECT_EQ(findings[0].tensor, "y");
  EXPECT_THAT(findings[0].message, HasSubstr("is narrower than branch \"b\""));
  concat.evidence.options.precision = {{"y", "fp32"}};
  EXPECT_THAT(concat.audit(), IsEmpty()) << "nothing is requantized";
  concat.evidence.options.precision.clear();

  // Typical data of which half lies beyond the output's range.
  LayerContext context = concat.context();
  std::vector<double> values(2000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 7.5 : 0.5;
  concat.evidence.executions.resize(1);
  concat.evidence.executions[0].data_set = "typical";
  context.reference = {std::make_shared<const core::TensorMap>(core::TensorMap{{"y", reals({2000}, values)}})};
  Judgement out;
  findings = audit_structure(context, out);

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_FALSE(findings[0].amber);
  // 7.5 is cut to 127 steps of 6/255 (half of the values), 0.5 is rounded; with 13/255 both are only rounded.
  ASSERT_EQ(out.metrics.size(), 1U);
  EXPECT_EQ(out.metrics[0].name, "range_loss_db");
  EXPECT_GT(out.metrics[0].value, 30);
}

TEST(AuditStructure, QuantizingTwiceInARowIsAFaultWhereNobodyReadsTheFirstForm) {
  ConcatCase concat;
  const std::string once = "ad = DequantizeLinear(aq, as, az)";
  concat.artifact_text.replace(concat.artifact_text.find(once), once.size(),
                               "a1 = DequantizeLinear(aq, as, az) aq2 = QuantizeLinear(a1, ys, yz)"
                               " ad = DequantizeLinear(aq2, ys, yz)");
  const auto findings = concat.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].message, HasSubstr("quantized twice in a row"));
  // Twice with the same parameters changes nothing.
  concat.artifact_text.replace(concat.artifact_text.find("(a1, ys, yz)"), 12, "(a1, as, az)");
  concat.artifact_text.replace(concat.artifact_text.find("(aq2, ys, yz)"), 13, "(aq2, as, az)");
  EXPECT_THAT(concat.faults(), IsEmpty());
}

/// Y = Relu(Q/DQ(x)) imported: the given parameters aren't those of the calibration data.
struct ImportCase : GemmCase {
  ImportCase() {
    original_text =
        "g (float[2,3] x) => (float[2,3] y) { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Relu(d) }";
    weights = {{"s", scalar_tensor(0.5)}, {"z", codes(DType::int8, {}, {3})}};
    artifact_text =
        "a (float[2,3] x) => (float[2,3] y) { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Relu(d) }";
    constants = weights;
  }
};

TEST(AuditStructure, GivenParametersAreKept) {
  EXPECT_THAT(ImportCase().faults(), IsEmpty());
  ImportCase changed;
  changed.constants["s"] = scalar_tensor(4.0 / 255);
  EXPECT_THAT(changed.faults(), ElementsAre("scale x"));
  ImportCase dropped;
  dropped.artifact_text = "a (float[2,3] x) => (float[2,3] y) { y = Relu(x) }";
  const auto findings = dropped.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].message, HasSubstr("but the artifact doesn't quantize it"));
}

TEST(AuditStructure, AZeroPointOutsideItsTypeCannotBeWritten) {
  GemmCase gemm;
  gemm.constants["bz"] = codes(DType::int32, {2}, {0, 5});
  gemm.artifact_text.replace(gemm.artifact_text.find("(bq, bs)"), 8, "(bq, bs, bz)");
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b")) << "an int32 bias has zero_point 0";
}

TEST(AuditScales, ATableOfScalesIsAuditedWithoutAnArtifact) {
  GemmCase gemm;
  const LayerContext context = gemm.without_artifact();
  gemm.evidence.converter.supports.artifact = converters::ArtifactKind::scales;
  gemm.evidence.conversion.tensors = {{"x", {{float32(4.0 / 255)}, {-64}, DType::int8, {}}}};
  Judgement out;
  EXPECT_THAT(audit_parameters(context, *gemm.calibration, out), IsEmpty());
  EXPECT_THAT(out.layers, ElementsAre("L0"));
  gemm.evidence.conversion.tensors[0].params.scale = {float32(4.0 / 254)};
  EXPECT_EQ(audit_parameters(context, *gemm.calibration, out).size(), 1U);
  gemm.evidence.conversion.tensors[0].params.scale = {0};
  EXPECT_FALSE(audit_parameters(context, *gemm.calibration, out).empty());
  gemm.evidence.converter.supports.artifact = converters::ArtifactKind::opaque;
  Judgement opaque;
  EXPECT_THAT(audit_parameters(context, *gemm.calibration, opaque), IsEmpty());
  EXPECT_THAT(opaque.layers, IsEmpty());
  for (const char* report : {"tensors", "activations", "inputs"}) {
    gemm.evidence.converter.supports.reports = {report};
    EXPECT_FALSE(audit_parameters(context, *gemm.calibration, opaque).empty()) << report << " are told all the same";
  }
  gemm.evidence.conversion.tensors[0].params.scale = {float32(4.0 / 255)};
  gemm.test_case.expect.scales = {{"x", {}}, {"y", {}}};
  EXPECT_THAT(audit_parameters(context, *gemm.calibration, opaque), IsEmpty()) << "the output's isn't asked for";
}

}  // namespace
}  // namespace assay::judge
