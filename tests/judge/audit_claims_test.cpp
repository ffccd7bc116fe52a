#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The hand-worked Gemm with a Sigmoid behind it, whose operand and result have a quantizer or not.
GemmCase with_sigmoid(const std::string& reads, const std::string& written) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { h = Gemm<transB=1>(x, w, b) s = Sigmoid(h) y = Tanh(s) }";
  gemm.artifact_text =
      "a (float[2,3] x) => (float[2,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
      " wd = DequantizeLinear<axis=0>(wq, ws, wz) bd = DequantizeLinear<axis=0>(bq, bs)"
      " h = Gemm<transB=1>(xd, wd, bd) hq = QuantizeLinear(h, ys, yz) hd = DequantizeLinear(hq, ys, yz)"
      " s = Sigmoid(" +
      reads + ") sq = QuantizeLinear(s, ss, sz) sd = DequantizeLinear(sq, ss, sz) r = Tanh(" + written +
      ") rq = QuantizeLinear(r, ss, sz) y = DequantizeLinear(rq, ss, sz) }";
  gemm.set_scalar("ss", 1.0 / 255);
  gemm.constants["sz"] = codes(DType::int8, {}, {-128});
  return gemm;
}

std::vector<Finding> audit(GemmCase gemm) { return audit_policy(gemm.context()); }

TEST(AuditClaims, ANodeThatIsReportedInt8ReadsQuantizedValues) {
  GemmCase gemm = with_sigmoid("h", "sd");
  EXPECT_THAT(audit(gemm), IsEmpty()) << "nobody says that it runs in INT8";
  gemm.evidence.conversion.precision = {{"s", "Sigmoid", "int8"}};
  const std::vector<Finding> findings = audit(gemm);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].facet, Facet::precision);
  EXPECT_THAT(findings[0].message, HasSubstr("the precision map says int8"));
  GemmCase quantized = with_sigmoid("hd", "sd");
  quantized.evidence.conversion.precision = gemm.evidence.conversion.precision;
  EXPECT_THAT(audit(quantized), IsEmpty());
}

TEST(AuditClaims, AScaleThatIsReportedOfAResultStandsBeforeItsReaders) {
  GemmCase gemm = with_sigmoid("hd", "s");
  gemm.evidence.conversion.precision = {{"s", "Sigmoid", "int8"}};
  EXPECT_THAT(audit(gemm), IsEmpty()) << "no scale is reported: it may have stay real";
  gemm.evidence.conversion.tensors = {{"s", {{float32(1.0 / 255)}, {-128}, DType::int8, std::nullopt}}};
  const std::vector<Finding> findings = audit(gemm);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].message, HasSubstr("a scale of \"s\" is reported"));
  gemm.evidence.converter.policy.whole_tensors = false;
  EXPECT_THAT(audit(gemm), IsEmpty()) << "its quantizer may be another reader's";
  const std::string pair = "sq = QuantizeLinear(s, ss, sz) sd = DequantizeLinear(sq, ss, sz) ";
  gemm.artifact_text.erase(gemm.artifact_text.find(pair), pair.size());
  EXPECT_THAT(audit(gemm), SizeIs(1)) << "no quantizer has the reported scale";
}

}  // namespace
}  // namespace assay::judge::testing
