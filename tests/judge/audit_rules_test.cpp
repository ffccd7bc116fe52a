// Rules of L0 that concern what stands around a tensor: fusions, stated policy, completeness, bins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/audit/granted_params.hpp"
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
using testing::Tensor;

/// y = Relu(Gemm(x)), of which the artifact keeps the Gemm only; y spans [0, 6.5].
struct FusedCase : GemmCase {
  explicit FusedCase(const std::string& activation, double scale, std::int64_t zero_point) {
    original_text = "g (float[2,3] x) => (float[2,2] y) { h = Gemm<transB=1>(x, w, b) y = " + activation + " }";
    weights.insert({{"lo", Tensor::scalar(DType::float32, 0)}, {"hi", Tensor::scalar(DType::float32, 6)}});
    set_scalar("ys", scale);
    constants["yz"] = codes(DType::int8, {}, {zero_point});
  }
};

TEST(AuditFusions, ARelusZeroPointMustBeTheLeastCode) {
  FusedCase fits("Relu(h)", 6.5 / 255, -128);
  EXPECT_THAT(audit_fusions(fits.context()), IsEmpty());
  EXPECT_THAT(fits.faults(), IsEmpty());
  FusedCase symmetric("Relu(h)", 6.5 / 127, 0);
  const auto findings = audit_fusions(symmetric.context());
  EXPECT_THAT(brief(findings), ElementsAre("zero_point y"));
  EXPECT_THAT(findings[0].message, HasSubstr("codes for values below 0"));
  EXPECT_EQ(findings[0].op, "Relu");
}

TEST(AuditFusions, AClipNeedsBothEndsAtItsBounds) {
  // [0, 6] over 255 steps: 6 is the last code.
  EXPECT_THAT(audit_fusions(FusedCase("Clip(h, lo, hi)", 6.0 / 255, -128).context()), IsEmpty());
  // [0, 6.5]: codes 236 … 255 stand for values above 6.
  FusedCase wide("Clip(h, lo, hi)", 6.5 / 255, -128);
  const auto findings = audit_fusions(wide.context());
  EXPECT_THAT(brief(findings), ElementsAre("zero_point y"));
  EXPECT_THAT(findings[0].message, HasSubstr("codes for values above 6"));
  // Codes that end below 6 cut more, which is the range's matter.
  EXPECT_THAT(audit_fusions(FusedCase("Clip(h, lo, hi)", 5.0 / 255, -128).context()), IsEmpty());
}

/// y = Relu(Identity(Gemm(x))): the artifact quantizes what the Gemm makes, then a copy of that with y's parameters.
struct RequantizedCase : FusedCase {
  RequantizedCase(double scale, std::int64_t zero_point, const std::string& between = "d = Identity(h) ",
                  const std::string& copy = "d")
      : FusedCase("Relu(d)", scale, zero_point) {
    original_text.replace(original_text.find("y = Relu"), 0, "d = Identity(h) ");
    const std::string once = "yq = QuantizeLinear(y_float, ys, yz)";
    artifact_text.replace(artifact_text.find(once), once.size(),
                          "hq = QuantizeLinear(y_float, hs, hz) h = DequantizeLinear(hq, hs, hz) " + between +
                              "yq = QuantizeLinear(" + copy + ", ys, yz)");
    set_scalar("hs", 8.625 / 255);
    constants["hz"] = codes(DType::int8, {}, {-65});
  }
};

TEST(AuditFusions, ASecondQuantizerMayDoTheWorkOfARelu) {
  EXPECT_THAT(RequantizedCase(6.5 / 255, -128).faults(), IsEmpty());
  EXPECT_THAT(RequantizedCase(6.5 / 255, -128, "", "h").faults(), IsEmpty()) << "no node stands for the Relu";
  EXPECT_THAT(brief(audit_fusions(RequantizedCase(6.5 / 127, 0).context())), ElementsAre("zero_point y"));

  RequantizedCase before(6.5 / 127, 0);  // what the first one cut stays cut
  before.set_scalar("hs", 6.5 / 255);
  before.constants["hz"] = codes(DType::int8, {}, {-128});
  EXPECT_THAT(audit_fusions(before.context()), IsEmpty());

  RequantizedCase wrong(6.5 / 255, -128);
  wrong.set_scalar("hs", 17.25 / 255);
  EXPECT_THAT(wrong.faults(), ElementsAre("scale h"));
}

TEST(AuditFusions, AnActivationThatStaysClipsByItself) {
  FusedCase kept("Relu(h)", 6.5 / 127, 0);
  kept.artifact_text.replace(kept.artifact_text.find("yq = QuantizeLinear(y_float"), 27,
                             "r = Relu(y_float) yq = QuantizeLinear(r");
  EXPECT_THAT(audit_fusions(kept.context()), IsEmpty());
}

TEST(AuditFusions, ARelusBehindWhatIsNeverNegativeDoesNothing) {
  GemmCase sigmoid;
  sigmoid.original_text = "g (float[2,3] x) => (float[2,3] y) { s = Sigmoid(x) y = Relu(s) }";
  sigmoid.weights.clear();
  sigmoid.artifact_text =
      "a (float[2,3] x) => (float[2,3] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
      " s = Sigmoid(xd) yq = QuantizeLinear(s, ys, yz) y = DequantizeLinear(yq, ys, yz) }";
  EXPECT_THAT(audit_fusions(sigmoid.context()), IsEmpty());
}

/// x [1,1,1,4] in [-3, 2] through MaxPool to [1, 2]; scales as given.
struct PoolCase : GemmCase {
  PoolCase() {
    original_text = "g (float[1,1,1,4] x) => (float[1,1,1,2] y) { y = MaxPool<kernel_shape=[1,2], strides=[1,2]>(x) }";
    weights.clear();
    batches = {{{"x", reals({1, 1, 1, 4}, {-3, 1, 0, 2})}}};
    artifact_text =
        "a (float[1,1,1,4] x) => (float[1,1,1,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " p = MaxPool<kernel_shape=[1,2], strides=[1,2]>(xd) yq = QuantizeLinear(p, ys, yz)"
        " y = DequantizeLinear(yq, ys, yz) }";
    set_scalar("xs", 5.0 / 255);
    constants["xz"] = codes(DType::int8, {}, {25});
    set_scalar("ys", 2.0 / 255);
    constants["yz"] = codes(DType::int8, {}, {-128});
  }
};

TEST(AuditActivations, WhatIsGatheredFromATableKeepsTheTablesType) {
  GemmCase table;
  table.original_text = "g (int64[2] i) => (float[2,2] e) { e = Gather(t, i) }";
  table.weights = {{"t", reals({3, 2}, {1.27, -0.5, 0.25, 1, 0, -1})}};
  table.batches = {{{"i", codes(DType::int64, {2}, {2, 0})}}};
  table.artifact_text =
      "a (int64[2] i) => (float[2,2] e) { td = DequantizeLinear(tq, ts, tz) h = Gather(td, i)"
      " eq = QuantizeLinear(h, es, tz) e = DequantizeLinear(eq, es, tz) }";
  const Tensor scale = Tensor::scalar(DType::float32, float32(0.01));
  table.constants = {{"tq", codes(DType::int8, {3, 2}, {127, -50, 25, 100, 0, -100})},
                     {"ts", scale},
                     {"tz", codes(DType::int8, {}, {0})},
                     {"es", scale}};
  table.evidence.options.activation = DType::uint8;
  table.evidence.options.symmetric = true;
  EXPECT_THAT(table.faults(), IsEmpty());
  table.set_scalar("es", 0.0101);
  EXPECT_THAT(table.faults(), ::testing::Contains("dtype e")) << "codes of its own";
}

TEST(AuditPolicy, AStatedSharingMustBeKept) {
  PoolCase pool;
  EXPECT_THAT(pool.faults(), IsEmpty()) << "unstated, it may requantize";
  pool.evidence.converter.policy.shares = std::vector<std::string>{"MaxPool"};
  EXPECT_THAT(pool.faults(), ElementsAre("scale y"));
  pool.constants["ys"] = pool.constants["xs"];
  pool.constants["yz"] = pool.constants["xz"];
  EXPECT_THAT(pool.faults(), IsEmpty());
}

TEST(AuditPolicy, OutputsThatAreStatedToStayInFloatDoSo) {
  GemmCase gemm;
  gemm.evidence.converter.policy.outputs = converters::GraphOutputs::stay_float;
  const auto findings = gemm.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::scale);
  EXPECT_EQ(findings[0].tensor, "y");
  EXPECT_THAT(findings[0].message, HasSubstr("says that graph outputs stay in float"));
}

TEST(AuditPolicy, ABiasThatIsSaidToStayInFloatMustNotBeQuantized) {
  GemmCase gemm;
  gemm.evidence.converter.policy.bias = converters::BiasRounding::stays_float;
  EXPECT_THAT(gemm.faults(), ElementsAre("scale b"));
}

TEST(AuditPolicy, AStatedFusionLeavesNoQuantizationBetween) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { h = Gemm<transB=1>(x, w, b) y = Relu(h) }";
  gemm.artifact_text =
      "a (float[2,3] x) => (float[2,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
      " wd = DequantizeLinear<axis=0>(wq, ws, wz) bd = DequantizeLinear<axis=0>(bq, bs) h = Gemm<transB=1>(xd, wd, bd)"
      " hq = QuantizeLinear(h, ys, yz) hd = DequantizeLinear(hq, ys, yz) r = Relu(hd) yq = QuantizeLinear(r, rs, rz)"
      " y = DequantizeLinear(yq, rs, rz) }";
  gemm.set_scalar("rs", 6.5 / 255);
  gemm.constants["rz"] = codes(DType::int8, {}, {-128});
  EXPECT_THAT(audit_policy(gemm.context()), IsEmpty());
  gemm.evidence.converter.policy.fusions = std::vector<std::string>{"Gemm+Relu"};
  EXPECT_THAT(brief(audit_policy(gemm.context())), ElementsAre("scale h"));
}

TEST(AuditPolicy, AnOperatorThatIsAlwaysQuantizedReadsAndGivesQuantizedValues) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { h = Gemm<transB=1>(x, w, b) y = Sigmoid(h) }";
  const auto artifact = [](const std::string& read) {
    return "a (float[2,3] x) => (float[2,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
           " wd = DequantizeLinear<axis=0>(wq, ws, wz) bd = DequantizeLinear<axis=0>(bq, bs)"
           " h = Gemm<transB=1>(xd, wd, bd) hq = QuantizeLinear(h, ys, yz) hd = DequantizeLinear(hq, ys, yz)"
           " s = Sigmoid(" +
           read + ") yq = QuantizeLinear(s, ss, sz) y = DequantizeLinear(yq, ss, sz) }";
  };
  gemm.set_scalar("ss", 1.0 / 255);
  gemm.constants["sz"] = codes(DType::int8, {}, {-128});
  const auto missing = [&](const std::string& read, const std::string& op) {
    gemm.artifact_text = artifact(read);
    gemm.evidence.converter.policy.quantizes = {op};
    return brief(audit_policy(gemm.context()));
  };
  EXPECT_THAT(missing("hd", "Sigmoid"), IsEmpty());
  EXPECT_THAT(missing("hd", "Gemm"), IsEmpty());
  EXPECT_THAT(missing("h", "Sigmoid"), ElementsAre("precision ")) << "its operand";
  EXPECT_THAT(missing("h", "Gemm"), ElementsAre("precision ")) << "its result";
  EXPECT_THAT(missing("h", "Add"), IsEmpty()) << "the policy says nothing of either";
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { y = Gemm<transB=1>(x, w, b) }";
  const std::string whole = GemmCase().artifact_text;
  gemm.artifact_text = whole.substr(0, whole.find(" y_float =")) + " y = Gemm<transB=1>(xd, wd, bd) }";
  gemm.evidence.converter.policy.quantizes = {"Gemm"};
  EXPECT_THAT(brief(audit_policy(gemm.context())), ElementsAre("precision ")) << "the output";
  gemm.evidence.converter.policy.outputs = converters::GraphOutputs::stay_float;
  EXPECT_THAT(brief(audit_policy(gemm.context())), IsEmpty());
  gemm.evidence.converter.policy.outputs = converters::GraphOutputs::either;
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { h = Gemm<transB=1>(x, w, b) y = Sigmoid(h) }";
  gemm.evidence.options.precision["Sigmoid"] = "fp32";
  EXPECT_THAT(missing("h", "Sigmoid"), IsEmpty()) << "as somebody asked";
}

TEST(AuditPolicy, AListedOperatorWritesQuantizedValuesAlwaysOrWhereItReadsThem) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { h = Gemm<transB=1>(x, w, b) y = Sigmoid(h) }";
  const std::string quantized = gemm.artifact_text.substr(0, gemm.artifact_text.find(" y_float"));
  const std::string kept = quantized +
                           " h = Gemm<transB=1>(xd, wd, bd) hq = QuantizeLinear(h, ys, yz)"
                           " hd = DequantizeLinear(hq, ys, yz) y = Sigmoid(hd) }";
  const std::string real = quantized + " h = Gemm<transB=1>(xd, wd, bd) y = Sigmoid(h) }";
  std::string of_reals = real;
  of_reals.replace(of_reals.find("(xd,"), 4, "(x, ");
  converters::Policy& policy = gemm.evidence.converter.policy;
  const auto missing = [&](const std::string& artifact) {
    gemm.artifact_text = artifact;
    return brief(audit_policy(gemm.context()));
  };
  policy.writes_quantized = {"Gemm"};
  EXPECT_THAT(missing(kept), IsEmpty());
  EXPECT_THAT(missing(real), ElementsAre("precision "));
  EXPECT_THAT(missing(of_reals), ElementsAre("precision "));
  policy.writes_quantized.clear();
  policy.keeps_quantized = {"Gemm"};
  EXPECT_THAT(missing(kept), IsEmpty());
  EXPECT_THAT(missing(real), ElementsAre("precision "));
  EXPECT_THAT(missing(of_reals), IsEmpty()) << "it reads none";
  policy.writes_quantized = {"Concat", "Reshape"};
  const std::string reshaped = kept.substr(0, kept.find(" y = Sigmoid")) +
                               " one = Constant<value_ints=[2]>() shape = Concat<axis=0>(one, one)"
                               " r = Reshape(hd, shape) y = Sigmoid(r) }";
  EXPECT_THAT(missing(reshaped), ElementsAre("precision ")) << "the Reshape, and not the Concat of extents";
}

TEST(AuditPolicy, ANodeThatReadsEvenlyHasNoInputLeftOut) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,3] y) { a = Sin(x) y = Add(a, x) }";
  const auto artifact = [](const std::string& first, const std::string& second) {
    return "a (float[2,3] x) => (float[2,3] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
           " a = Sin(x) aq = QuantizeLinear(a, xs, xz) ad = DequantizeLinear(aq, xs, xz) y = Add(" +
           first + ", " + second + ") }";
  };
  const auto missing = [&](const std::string& first, const std::string& second) {
    gemm.artifact_text = artifact(first, second);
    return brief(audit_policy(gemm.context()));
  };
  EXPECT_THAT(missing("ad", "x"), IsEmpty()) << "nothing stated";
  gemm.evidence.converter.policy.reads_evenly = true;
  EXPECT_THAT(missing("ad", "x"), ElementsAre("precision "));
  EXPECT_THAT(missing("a", "xd"), ElementsAre("precision "));
  EXPECT_THAT(missing("ad", "xd"), IsEmpty());
  EXPECT_THAT(missing("a", "x"), IsEmpty());
  gemm.evidence.options.precision["Add"] = "fp32";
  EXPECT_THAT(missing("ad", "x"), IsEmpty()) << "as somebody asked";
}

TEST(AuditConstants, AnOperatorOfTheConvertersOwnReadsTheModelsConstants) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,3] y) { y = Mul(x, k) }";
  gemm.artifact_text = "a (float[2,3] x) => (float[2,3] y) { n = Neg(k) m = Neg(n) y = Mul(x, m) }";
  gemm.weights["k"] = gemm.constants["k"] = reals({3}, {1, 2, 3});
  EXPECT_THAT(brief(audit_constants(gemm.context())), IsEmpty());
  gemm.constants["k"] = reals({3}, {1, -2, 3});
  EXPECT_THAT(brief(audit_constants(gemm.context())), ::testing::Contains("weight k"));
}

// Magika takes the largest of its values and minus infinity.
TEST(AuditConstants, AnInfinityIsItself) {
  GemmCase gemm;
  gemm.original_text = gemm.artifact_text = "g (float[2,3] x) => (float[2,3] y) { y = Max(x, k) }";
  gemm.weights["k"] = gemm.constants["k"] = reals({1}, {-HUGE_VAL});
  EXPECT_THAT(brief(audit_constants(gemm.context())), IsEmpty());
  gemm.constants["k"] = reals({1}, {-65504});
  EXPECT_THAT(brief(audit_constants(gemm.context())), IsEmpty()) << "float16's least";
  for (const double other : {0.0, 65504.0}) {
    gemm.constants["k"] = reals({1}, {other});
    EXPECT_THAT(brief(audit_constants(gemm.context())), ElementsAre("weight k")) << other;
  }
}

TEST(AuditConstants, OfTwoConstantOperandsEachIsComparedWithItsOwn) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,3] y, float[3] z) { z = Mul(k, w) y = Mul(x, w) }";
  gemm.weights = gemm.constants = {{"k", reals({3}, {1, 2, 3})}, {"w", reals({3}, {-4, 5, 6})}};
  const auto wrong = [&](const std::string& product) {
    gemm.artifact_text = "a (float[2,3] x) => (float[2,3] y, float[3] z) { z = " + product + " y = Mul(x, w) }";
    return brief(audit_constants(gemm.context()));
  };
  EXPECT_THAT(wrong("Mul(k, w)"), IsEmpty());
  EXPECT_THAT(wrong("Mul(w, k)"), IsEmpty()) << "they may change places";
  EXPECT_THAT(wrong("Mul(w, w)"), ElementsAre("weight k"));
  EXPECT_THAT(wrong("Mul(k, k)"), ElementsAre("weight w"));
}

TEST(AuditPolicy, NobodyBypassesAPairWhereThePolicySaysSo) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,3] y) { a = Sin(x) y = Add(a, x) }";
  const auto bypasses = [&](const std::string& first, const std::string& second) {
    gemm.artifact_text =
        "a (float[2,3] x) => (float[2,3] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " a = Sin(" +
        first + ") y = Add(a, " + second + ") }";
    return brief(audit_policy(gemm.context()));
  };
  EXPECT_THAT(bypasses("xd", "x"), IsEmpty()) << "nothing stated";
  gemm.evidence.converter.policy.whole_tensors = true;
  EXPECT_THAT(bypasses("xd", "x"), ElementsAre("precision "));
  EXPECT_THAT(bypasses("x", "xd"), ElementsAre("precision "));
  EXPECT_THAT(bypasses("xd", "xd"), IsEmpty()) << "a is read as it is: it has no pair";
}

TEST(AuditPolicy, WhatGatesATensorStaysInFloatWhereThePolicySaysSo) {
  GemmCase gate;
  gate.weights = {};
  gate.original_text =
      "g (float[1,2,1,2] x) => (float[1,2,1,2] y) { m = GlobalAveragePool(x) s = Sigmoid(m) y = Mul(x, s) }";
  gate.batches = {{{"x", reals({1, 2, 1, 2}, {-1, 2, 3, -4})}}};
  gate.artifact_text =
      "a (float[1,2,1,2] x) => (float[1,2,1,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
      " m = GlobalAveragePool(xd) s = Sigmoid(m) y = Mul(xd, s) }";
  gate.evidence.converter.policy.reads_quantized = {"Sigmoid"};
  EXPECT_THAT(brief(audit_policy(gate.context())), ElementsAre("precision "));
  gate.evidence.converter.policy.gates_in_float = true;
  EXPECT_THAT(brief(audit_policy(gate.context())), IsEmpty());
}

TEST(AuditPolicy, AProductWithAQuantizedWeightReadsQuantizedData) {
  GemmCase gemm;
  const std::string whole = gemm.artifact_text;
  gemm.artifact_text.replace(gemm.artifact_text.find("(xd,"), 4, "(x, ");
  EXPECT_THAT(brief(audit_policy(gemm.context())), IsEmpty()) << "nothing stated";
  gemm.evidence.converter.policy.whole_products = true;
  EXPECT_THAT(brief(audit_policy(gemm.context())), ElementsAre("precision "));
  gemm.evidence.options.precision["Gemm"] = "fp32";
  EXPECT_THAT(brief(audit_policy(gemm.context())), IsEmpty()) << "as somebody asked";
  gemm.evidence.options.precision.clear();
  gemm.artifact_text = whole;
  EXPECT_THAT(brief(audit_policy(gemm.context())), IsEmpty());
}

TEST(AuditPolicy, AnOperatorListedToReadFloatHasNoQuantizerBeforeIt) {
  GemmCase gemm;
  EXPECT_THAT(brief(audit_policy(gemm.context())), IsEmpty()) << "nothing stated";
  gemm.evidence.converter.policy.reads_float = {"Relu", "Gemm"};
  EXPECT_THAT(brief(audit_policy(gemm.context())), ElementsAre("precision "));
  gemm.artifact_text.replace(gemm.artifact_text.find("(xd,"), 4, "(x, ");  // its weight may be
  EXPECT_THAT(brief(audit_policy(gemm.context())), IsEmpty());
}

TEST(AuditPolicy, AListedOperatorReadsQuantizedValuesAlsoThroughWhatMovesThem) {
  GemmCase gemm;
  gemm.original_text =
      "g (float[2,3] x) => (float[4,2] y) { h = Gemm<transB=1>(x, w, b) m = Concat<axis=0>(h, h) y = Sigmoid(m) }";
  const std::string quantized = gemm.artifact_text.substr(0, gemm.artifact_text.find(" y_float"));
  gemm.evidence.converter.policy.reads_quantized = {"Sigmoid"};
  gemm.artifact_text =
      quantized +
      " h = Gemm<transB=1>(xd, wd, bd) hq = QuantizeLinear(h, ys, yz) hd = DequantizeLinear(hq, ys, yz)"
      " m = Concat<axis=0>(hd, hd) y = Sigmoid(m) }";
  EXPECT_THAT(brief(audit_policy(gemm.context())), IsEmpty());
  gemm.artifact_text = quantized + " h = Gemm<transB=1>(xd, wd, bd) m = Concat<axis=0>(h, h) y = Sigmoid(m) }";
  EXPECT_THAT(brief(audit_policy(gemm.context())), ElementsAre("precision "));
}

TEST(AuditPolicy, OutputsThatAreStatedToBeQuantizedAre) {
  GemmCase gemm;
  gemm.evidence.converter.policy.outputs = converters::GraphOutputs::quantized;
  EXPECT_THAT(brief(audit_policy(gemm.context())), IsEmpty());
  gemm.artifact_text = gemm.artifact_text.substr(0, gemm.artifact_text.find(" yq =")) + " y = Identity(y_float) }";
  EXPECT_THAT(brief(audit_policy(gemm.context())), ElementsAre("precision y"));
}

// Means of x over the batch: 0.5, 1.5, 0. What wᵀ of these lacks of the mean result is the correction.
TEST(AuditBias, ACorrectedBiasMakesUpForTheMean) {
  GemmCase gemm;
  gemm.artifact_text.replace(gemm.artifact_text.find("wd, bd)"), 7, "wd, bf)");
  gemm.constants["bf"] = reals({2}, {0.5, -1});
  gemm.evidence.converter.policy.bias = converters::BiasRounding::mean_corrected;
  EXPECT_THAT(gemm.faults(), IsEmpty()) << "not corrected at all";
  const double w0 = float32(4.0 / 127), w1 = float32(0.5 / 127);
  const double shift0 = (1 * 0.5 + 2 * 1.5) - w0 * (32 * 0.5 + 64 * 1.5);
  const double shift1 = (0.5 * 0.5 - 0.25 * 1.5) - w1 * (127 * 0.5 - 64 * 1.5);
  gemm.constants["bf"] = reals({2}, {0.5 + shift0, -1 + shift1});
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.constants["bf"] = reals({2}, {0.5 + 2 * shift0, -1 + shift1});
  const auto findings = gemm.audit();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::bias);
  EXPECT_EQ(findings[0].portion, 0.5);
  gemm.evidence.converter.policy.bias = converters::BiasRounding::corrected;
  gemm.constants["bf"] = reals({2}, {0.5 + shift0 / 2, -1 + shift1 / 2});
  EXPECT_THAT(gemm.faults(), IsEmpty()) << "a correction without a rule";
  gemm.constants["bf"] = reals({2}, {0.5 + 1, -1});
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b")) << "the channel's mean is off by what was added";
}

// x is rounded by half a step nearly everywhere, so that the mean of the product is better off without the correction.
TEST(AuditBias, ACorrectionMayBeThatOfTheRoundedWeightsAlone) {
  GemmCase gemm;
  gemm.batches = {{{"x", reals({2, 3}, {-1, 3, 1, 1.57, 1.23, 1.53})}}};  // means 0.285, 2.115, 1.265
  gemm.set_scalar("ys", 3.625 / 255);
  gemm.constants["yz"] = codes(DType::int8, {}, {21});  // round(-128 + 149.48)
  gemm.artifact_text.replace(gemm.artifact_text.find("wd, bd)"), 7, "wd, bf)");
  gemm.evidence.converter.policy.bias = converters::BiasRounding::corrected;
  const double w0 = float32(4.0 / 127), w1 = float32(0.5 / 127);
  const double shift0 = (1 * 0.285 + 2 * 2.115 - 4 * 1.265) - w0 * (32 * 0.285 + 64 * 2.115 - 127 * 1.265);
  const double shift1 = (0.5 * 0.285 - 0.25 * 2.115 + 0.125 * 1.265) - w1 * (127 * 0.285 - 64 * 2.115 + 32 * 1.265);
  gemm.constants["bf"] = reals({2}, {0.5 + shift0, -1 + shift1});
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.constants["bf"] = reals({2}, {0.5 + 4 * shift0, -1 + shift1});
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b"));
}

TEST(AuditWeights, AWeightThatStaysInFloatIsTheModels) {
  GemmCase gemm;
  gemm.artifact_text.replace(gemm.artifact_text.find("(xd, wd, bd)"), 12, "(xd, wf, bf)");
  gemm.constants["wf"] = gemm.weights.at("w");
  gemm.constants["bf"] = gemm.weights.at("b");
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.constants["wf"] = reals({2, 3}, {1, 2, -4, 0.5, 0.25, 0.125});
  EXPECT_THAT(gemm.faults(), ElementsAre("weight w"));
  gemm.constants["wf"] = gemm.weights.at("w");
  gemm.constants["bf"] = reals({2}, {0.5, 1});
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b"));
}

// Behind the Clip ys·(127 − yz) = 6.494 is the largest value, and a step is 0.0338.
TEST(AuditConstants, AClipsBoundsMayBeQuantizedValues) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { h = Gemm<transB=1>(x, w, b) y = Clip(h, low, high) }";
  gemm.weights["low"] = Tensor::scalar(DType::float32, -1);
  gemm.weights["high"] = Tensor::scalar(DType::float32, 7);
  gemm.artifact_text.replace(gemm.artifact_text.find("yq = QuantizeLinear(y_float"), 27,
                             "c = Clip(y_float, low, high) yq = QuantizeLinear(c");
  const auto faults_of = [&](double low, double high) {
    gemm.set_scalar("low", low);
    gemm.set_scalar("high", high);
    std::vector<std::string> faults = gemm.faults();
    std::erase_if(faults, [](const std::string& each) { return !each.starts_with("weight"); });
    return faults;
  };
  EXPECT_THAT(faults_of(-1, 7), IsEmpty());
  EXPECT_THAT(faults_of(-1.01, 6.5), IsEmpty()) << "rounded, and cut where nothing can be";
  EXPECT_THAT(faults_of(-1.03, 7), ElementsAre("weight low"));
  EXPECT_THAT(faults_of(-1, 6.4), ElementsAre("weight high"));
}

TEST(AuditGiven, ALearnedRangeIsLegalAndWeighedByWhatItCosts) {
  GemmCase gemm;
  gemm.set_scalar("xs", 3.0 / 255);
  EXPECT_THAT(gemm.faults(), ::testing::Contains("scale x")) << "no min-max range";
  gemm.evidence.options.method = converters::Method::given;
  const double bias = gemm.constants.at("xs").as_real(0);
  gemm.constants["bs"] = reals({2}, {float32(bias * float32(4.0 / 127)), float32(bias * float32(0.5 / 127))});
  gemm.constants["bq"] = codes(DType::int32, {2}, {1349, -21590});
  EXPECT_THAT(gemm.faults(), ::testing::Not(::testing::Contains("scale x"))) << "learned";
  gemm.set_scalar("xs", 0.03 / 255);
  const auto faults = gemm.faults();
  EXPECT_THAT(faults, ::testing::Contains("scale x (amber)")) << "all but the least values are cut off";
}

/// y = Conv(Relu(Conv(x))), its weights divided by `first` and `second`; nothing else is rounded.
struct TwoConvs : GemmCase {
  TwoConvs(double first, double second) {
    const std::string conv = "Conv<kernel_shape=[1,1]>";
    original_text =
        "g (float[1,2,1,2] x) => (float[1,2,1,2] y) { a = " + conv + "(x, w) b = Relu(a) y = " + conv + "(b, v) }";
    artifact_text =
        "a (float[1,2,1,2] x) => (float[1,2,1,2] y) {"
        " xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " wd = DequantizeLinear(wq, ws, wz) a = " +
        conv +
        "(xd, wd) b = Relu(a)"
        " bq = QuantizeLinear(b, bs, bz) bd = DequantizeLinear(bq, bs, bz)"
        " vd = DequantizeLinear(vq, vs, wz) y = " +
        conv + "(bd, vd) }";
    weights = {{"w", reals({2, 2, 1, 1}, {1, 0, 0, 1})}, {"v", reals({2, 2, 1, 1}, {0, 2, 2, 0})}};
    batches = {{{"x", reals({1, 2, 1, 2}, {-1, 0.5, 1, -0.5})}}};
    const auto code = [](double divisor) { return static_cast<std::int64_t>(divisor); };
    constants = {{"xs", Tensor::scalar(DType::float32, float32(1.0 / 127))},
                 {"xz", codes(DType::int8, {}, {0})},
                 {"ws", Tensor::scalar(DType::float32, float32(1 / first))},
                 {"wz", codes(DType::int8, {}, {0})},
                 {"wq", codes(DType::int8, {2, 2, 1, 1}, {code(first), 0, 0, code(first)})},
                 {"bs", Tensor::scalar(DType::float32, float32(1.0 / 127))},
                 {"bz", codes(DType::int8, {}, {0})},
                 {"vs", Tensor::scalar(DType::float32, float32(2 / second))},
                 {"vq", codes(DType::int8, {2, 2, 1, 1}, {0, code(second), code(second), 0})}};
    evidence.options.symmetric = true;
    evidence.options.per_axis = false;
  }
  std::vector<std::string> faults_with(double first_divisor) {
    evidence.converter.policy.first_divisor = first_divisor;
    return faults();
  }
};

TEST(AuditWeights, AFirstDivisorIsThatOfTheFirstConvAlone) {
  EXPECT_THAT(TwoConvs(63, 127).faults_with(63), IsEmpty());
  EXPECT_THAT(TwoConvs(63, 127).faults_with(0), ElementsAre("scale w"));
  EXPECT_THAT(TwoConvs(127, 127).faults_with(63), ElementsAre("scale w")) << "the policy says one bit less";
  EXPECT_THAT(TwoConvs(63, 63).faults_with(63), ElementsAre("scale v")) << "which isn't the first";
}

TEST(AuditWeights, AWeightDivisorIsThatOfEveryWeight) {
  const auto faults = [](double first, double second, double weight_divisor, double first_divisor) {
    TwoConvs convs(first, second);
    convs.evidence.converter.policy.weight_divisor = weight_divisor;
    return convs.faults_with(first_divisor);
  };
  EXPECT_THAT(faults(63, 63, 63, 0), IsEmpty()) << "activations have 127 all the same";
  EXPECT_THAT(faults(127, 63, 63, 0), ElementsAre("scale w"));
  EXPECT_THAT(faults(63, 100, 100, 63), IsEmpty()) << "the first Conv's is its own";
}

// b = {0.5, -1}: as a weight of one scale, 1/127.
TEST(AuditBias, AScaleOfItsOwnIsThatOfAWeight) {
  GemmCase gemm;
  gemm.artifact_text.replace(gemm.artifact_text.find("<axis=0>(bq"), 11, "(bq");
  gemm.evidence.converter.policy.bias = converters::BiasRounding::own_scale;
  gemm.set_scalar("bs", 1.0 / 127);
  gemm.constants["bq"] = codes(DType::int8, {2}, {64, -127});
  EXPECT_THAT(gemm.faults(), IsEmpty());
  gemm.constants["bq"] = codes(DType::int8, {2}, {65, -127});
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b")) << "not the nearest";
  gemm.constants["bq"] = codes(DType::int8, {2}, {64, -127});
  gemm.set_scalar("bs", 2.0 / 127);
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b")) << "the step was moved, and the codes were not";

  gemm.set_scalar("bs", 1.0 / 127);
  gemm.evidence.converter.policy.bias = converters::BiasRounding::nearest;
  EXPECT_THAT(gemm.faults(), ElementsAre("bias b")) << "a sum of integers needs it in 32 bits";
  GemmCase wide;
  wide.evidence.converter.policy.bias = converters::BiasRounding::own_scale;
  EXPECT_THAT(wide.faults(), ElementsAre("bias b")) << "32 bits are not the weights' type";
}

TEST(AuditConstants, ABiasBehindAProductMayBeCorrectedWhereThePolicySaysSo) {
  const auto faults = [](converters::BiasRounding bias) {
    GemmCase product;
    product.original_text = "g (float[2,3] x) => (float[2,2] y) { m = MatMul(x, w) y = Add(m, b) }";
    product.artifact_text =
        "a (float[2,3] x) => (float[2,2] y) {"
        " xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz) wd = DequantizeLinear<axis=1>(wq, ws, wz)"
        " m = MatMul(xd, wd) y = Add(m, b) }";
    product.weights["w"] = reals({3, 2}, {1, 0.5, 2, -0.25, -4, 0.125});
    product.constants["wq"] = codes(DType::int8, {3, 2}, {32, 127, 64, -64, -127, 32});
    product.constants["b"] = reals({2}, {0.6, -1});
    product.evidence.converter.policy.bias = bias;
    return product.faults();
  };
  EXPECT_THAT(faults(converters::BiasRounding::nearest), ElementsAre("weight b"));
  EXPECT_THAT(faults(converters::BiasRounding::corrected), IsEmpty());
}

TEST(GrantedWeights, HaveTheDivisorAndTheFloorThatThePolicyStates) {
  const auto granted = [](std::size_t node, double first_divisor, double channel_floor) {
    TwoConvs convs(127, 127);
    convs.evidence.converter.policy.first_divisor = first_divisor;
    convs.evidence.converter.policy.channel_floor = channel_floor;
    convs.evidence.options.per_axis = true;
    const LayerContext layers = convs.context();
    const Tensor weight = reals({2, 1, 1, 1}, {1, 0.25});
    return GrantedParams(layers).weight_params(node, weight, 0, nullptr, nullptr, 0).scale;
  };
  EXPECT_NEAR(granted(0, 0, 0).front(), 1.0 / 127, 1e-8);
  EXPECT_NEAR(granted(0, 63, 0).front(), 1.0 / 63, 1e-8);
  EXPECT_NEAR(granted(2, 63, 0).front(), 1.0 / 127, 1e-8) << "which isn't the first";
  EXPECT_NEAR(granted(0, 0, 0).back(), 0.25 / 127, 1e-8);
  EXPECT_NEAR(granted(0, 0, 0.5).back(), 0.5 / 127, 1e-8);
}

TEST(GrantedWeights, MayHaveEitherPowerOfTwo) {
  TwoConvs convs(127, 127);
  convs.evidence.converter.policy.power_of_two = true;
  const LayerContext layers = convs.context();
  const Tensor weight = reals({2, 1, 1, 1}, {1, 0.25});
  core::QuantParams declared;
  declared.type = DType::int8;
  declared.zero_point = {0};
  declared.scale = {0x1p-6};  // 1/127 lies between 2^-7 and 2^-6
  EXPECT_EQ(GrantedParams(layers).weight_radius(0, weight, -1, &declared, nullptr, 0).front(), 0x1p-7 + 0x1p-22);
  declared.scale = {0x1p-7};
  EXPECT_EQ(GrantedParams(layers).weight_radius(0, weight, -1, &declared, nullptr, 0).front(), 0x1p-7)
      << "1 lies one step beyond the last code";
  declared.scale = {0x1p-3};
  EXPECT_EQ(GrantedParams(layers).weight_radius(0, weight, -1, &declared, nullptr, 0).front(), 0x1p-7 + 0x1p-22)
      << "too coarse a step is granted to nobody";
}

TEST(AuditWeights, AChannelFloorWidensNarrowChannelsOnly) {
  GemmCase narrow;
  narrow.evidence.converter.policy.channel_floor = 0.25;  // of 4: the second row, up to 0.5, takes 1
  EXPECT_THAT(narrow.faults(), ElementsAre("scale w"));
  const double xs = float32(4.0 / 255), w0 = float32(4.0 / 127), w1 = float32(1.0 / 127);
  narrow.constants["ws"] = reals({2}, {w0, w1});
  narrow.constants["wq"] = codes(DType::int8, {2, 3}, {32, 64, -127, 64, -32, 16});
  narrow.constants["bs"] = reals({2}, {float32(xs * w0), float32(xs * w1)});
  narrow.constants["bq"] = codes(DType::int32, {2}, {1012, -8096});
  EXPECT_THAT(narrow.faults(), IsEmpty());
}

/// y = Conv(x) with one weight for each of two channels; x's channels reach 1 and 4.
struct DepthwiseCase : GemmCase {
  DepthwiseCase() {
    original_text = "g (float[1,2,1,2] x) => (float[1,2,1,2] y) { y = Conv<group=2, kernel_shape=[1,1]>(x, w) }";
    artifact_text =
        "a (float[1,2,1,2] x) => (float[1,2,1,2] y) {"
        " xq = QuantizeLinear<axis=1>(x, xs, xz) xd = DequantizeLinear<axis=1>(xq, xs, xz)"
        " wd = DequantizeLinear<axis=0>(wq, ws, wz) y = Conv<group=2, kernel_shape=[1,1]>(xd, wd) }";
    weights = {{"w", reals({2, 1, 1, 1}, {1, 2})}};
    batches = {{{"x", reals({1, 2, 1, 2}, {-1, 0.5, 4, -2})}}};
    constants = {{"xs", reals({2}, {float32(1.0 / 127), float32(4.0 / 127)})},
                 {"xz", codes(DType::int8, {2}, {0, 0})},
                 {"ws", reals({2}, {float32(1.0 / 127), float32(2.0 / 127)})},
                 {"wz", codes(DType::int8, {2}, {0, 0})},
                 {"wq", codes(DType::int8, {2, 1, 1, 1}, {127, 127})}};
    evidence.options.symmetric = true;
    evidence.converter.policy.depthwise_channels = true;
  }
};

TEST(AuditActivations, WhatADepthwiseConvReadsMayHaveAScaleForEachChannel) {
  EXPECT_THAT(DepthwiseCase().faults(), IsEmpty());
  DepthwiseCase unstated;
  unstated.evidence.converter.policy.depthwise_channels = false;
  EXPECT_THAT(unstated.faults(), ElementsAre("count x"));
  DepthwiseCase wrong;
  wrong.constants["xs"] = reals({2}, {float32(4.0 / 127), float32(1.0 / 127)});
  EXPECT_THAT(wrong.faults(), ElementsAre("scale x"));
}

TEST(AuditWeights, AWeightThatTheGraphComputesHasFloat32sError) {
  GemmCase gemm;
  gemm.original_text = "g (float[2,3] x) => (float[2,2] y) { w = Gemm(far, one, back) y = Gemm<transB=1>(x, w, b) }";
  std::vector<double> far = gemm.weights.at("w").to_reals();
  for (double& value : far) value += 1024;
  gemm.weights["far"] = reals({2, 3}, far);
  gemm.weights["one"] = reals({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  gemm.weights["back"] = reals({1}, {-1024});
  const core::TensorMap computed{{"w", gemm.weights.at("w")}};
  gemm.weights.erase("w");
  const std::vector<double> scales = gemm.constants.at("ws").to_reals();
  const auto faults = [&](double off) {
    const double first = float32(scales[0] * (1 + off)), x = gemm.constants.at("xs").as_real(0);
    gemm.constants["ws"] = reals({2}, {first, scales[1]});
    gemm.constants["bs"] = reals({2}, {float32(x * first), float32(x * scales[1])});
    LayerContext context = gemm.context();
    context.reference = {std::make_shared<const core::TensorMap>(computed)};
    Judgement out;
    return brief(audit_parameters(context, *gemm.calibration, out));
  };
  EXPECT_THAT(faults(0), IsEmpty());
  EXPECT_THAT(faults(1e-6), IsEmpty());
  EXPECT_THAT(faults(1e-2), ::testing::Contains("scale w"));
}

TEST(AuditPolicy, AStatedFoldingLeavesNoBatchNormalization) {
  GemmCase conv;
  conv.original_text =
      "g (float[1,1,1,2] x) => (float[1,2,1,2] y) { c = Conv(x, w) y = BatchNormalization(c, k, b, m, v) }";
  conv.weights = {{"w", reals({2, 1, 1, 1}, {3, 8})},
                  {"k", reals({2}, {1, 2})},
                  {"b", reals({2}, {0, 0})},
                  {"m", reals({2}, {0, 0})},
                  {"v", reals({2}, {1, 1})}};
  conv.batches = {{{"x", reals({1, 1, 1, 2}, {-1, 3})}}};
  conv.artifact_text =
      "a (float[1,1,1,2] x) => (float[1,2,1,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
      " wd = DequantizeLinear<axis=0>(cq, ws, wz) c = Conv(xd, wd) y = BatchNormalization(c, k, b, m, v) }";
  for (const auto& [name, value] : conv.weights) conv.constants.emplace(name, value);
  conv.constants["cq"] = codes(DType::int8, {2, 1, 1, 1}, {127, 127});
  EXPECT_THAT(audit_policy(conv.context()), IsEmpty());
  conv.evidence.converter.policy.folds_bn = true;
  EXPECT_THAT(brief(audit_policy(conv.context())), ElementsAre("scale c"));
  conv.evidence.converter.policy.folds_bn = false;
  EXPECT_THAT(audit_policy(conv.context()), IsEmpty());
}

TEST(AuditActivations, WhatIsGatheredFromATableKeepsTheTablesParameters) {
  GemmCase table;
  table.original_text = "g (int64[2] i) => (float[2,2] y) { e = Gather(t, i) y = Sigmoid(e) }";
  table.weights = {{"t", reals({3, 2}, {1, 2, -4, 0.5, -0.25, 0.125})}};
  table.batches = {{{"i", codes(DType::int64, {2}, {0, 2})}}};
  table.artifact_text =
      "a (int64[2] i) => (float[2,2] y) { td = DequantizeLinear(tq, ts, tz) e = Gather(td, i)"
      " eq = QuantizeLinear(e, ts, tz) ed = DequantizeLinear(eq, ts, tz) y = Sigmoid(ed) }";
  table.constants = {{"tq", codes(DType::int8, {3, 2}, {32, 64, -127, 16, -8, 4})},
                     {"ts", Tensor::scalar(DType::float32, float32(4.0 / 127))},
                     {"tz", codes(DType::int8, {}, {0})}};
  const auto faults = [&] {
    const LayerContext context = table.context();
    return brief(audit_activations(context, *table.calibration));
  };
  EXPECT_THAT(faults(), IsEmpty()) << "symmetric, as weights are";
  table.artifact_text =
      "a (int64[2] i) => (float[2,2] y) { td = DequantizeLinear(tq, ts, tz) e = Gather(td, i)"
      " eq = QuantizeLinear(e, es, tz) ed = DequantizeLinear(eq, es, tz) y = Sigmoid(ed) }";
  table.set_scalar("es", 5.0 / 127);
  EXPECT_THAT(faults(), ElementsAre("scale e")) << "nobody's";
}

TEST(AuditPolicy, AStatedFoldingSpeaksOfConvAlone) {
  GemmCase deconv;
  deconv.original_text =
      "g (float[1,1,1,2] x) => (float[1,2,1,2] y) { c = ConvTranspose(x, w) y = BatchNormalization(c, k, b, m, v) }";
  deconv.weights = {{"w", reals({1, 2, 1, 1}, {3, 8})},
                    {"k", reals({2}, {1, 2})},
                    {"b", reals({2}, {0, 0})},
                    {"m", reals({2}, {0, 0})},
                    {"v", reals({2}, {1, 1})}};
  deconv.batches = {{{"x", reals({1, 1, 1, 2}, {-1, 3})}}};
  deconv.artifact_text =
      "a (float[1,1,1,2] x) => (float[1,2,1,2] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
      " wd = DequantizeLinear<axis=1>(cq, ws, wz) c = ConvTranspose(xd, wd) y = BatchNormalization(c, k, b, m, v) }";
  for (const auto& [name, value] : deconv.weights) deconv.constants.emplace(name, value);
  deconv.constants["cq"] = codes(DType::int8, {1, 2, 1, 1}, {127, 127});
  deconv.evidence.converter.policy.folds_bn = true;
  EXPECT_THAT(audit_policy(deconv.context()), IsEmpty());
}

/// The Gemm's parameters as a table, without an artifact.
std::vector<std::string> table_faults(GemmCase& gemm, const std::vector<std::string>& tensors) {
  const LayerContext layers = gemm.without_artifact();
  gemm.evidence.converter.supports.artifact = converters::ArtifactKind::scales;
  gemm.evidence.conversion.tensors.clear();
  const std::map<std::string, core::QuantParams> all{{"x", {{float32(4.0 / 255)}, {-64}, DType::int8, {}}},
                                                     {"t", {{float32(2.0 / 255)}, {0}, DType::int8, {}}},
                                                     {"y", {{float32(8.625 / 255)}, {-65}, DType::int8, {}}}};
  for (const std::string& name : tensors) gemm.evidence.conversion.tensors.push_back({name, all.at(name)});
  return brief(audit_completeness(layers));
}

TEST(AuditCompleteness, WhatAnOperatorOnCodesReadsMustBeInTheTable) {
  GemmCase gemm;
  EXPECT_THAT(table_faults(gemm, {"x", "y"}), IsEmpty());
  EXPECT_THAT(table_faults(gemm, {"y"}), ElementsAre("scale x"));
  EXPECT_THAT(table_faults(gemm, {"x"}), IsEmpty()) << "an output may stay in float";
  gemm.evidence.conversion.precision = {{"y", "Gemm", "fp32"}};
  EXPECT_THAT(table_faults(gemm, {"y"}), IsEmpty()) << "by the map it doesn't run on codes";
}

TEST(AuditCompleteness, AMovedTensorMayKeepTheScaleItHad) {
  GemmCase moved;
  moved.original_text = "g (float[2,3] x) => (float[2,2] y) { t = Identity(x) y = Gemm<transB=1>(t, w, b) }";
  EXPECT_THAT(table_faults(moved, {"x", "y"}), IsEmpty());
  GemmCase changed;
  changed.original_text = "g (float[2,3] x) => (float[2,2] y) { t = Tanh(x) y = Gemm<transB=1>(t, w, b) }";
  EXPECT_THAT(table_faults(changed, {"x", "y"}), ElementsAre("scale t"));
  changed.evidence.converter.supports.reports = {"inputs"};
  EXPECT_THAT(table_faults(changed, {"x"}), IsEmpty()) << "that others aren't told says nothing of them";
}

TEST(AuditCompleteness, AConvsWeightsMayTakeInTheScalesOfWhatIsJoined) {
  GemmCase joined;
  joined.original_text =
      "g (float[1,1,1,2] x) => (float[1,1,1,2] y) { t = Tanh(x) c = Concat<axis=1>(x, t) y = Conv(c, w) }";
  joined.weights = {{"w", reals({1, 2, 1, 1}, {1, 2})}};
  joined.batches = {{{"x", reals({1, 1, 1, 2}, {-1, 3})}}};
  joined.artifact_text = joined.original_text;
  for (const auto& [name, value] : joined.weights) joined.constants.emplace(name, value);
  EXPECT_THAT(table_faults(joined, {"x", "t"}), ElementsAre("scale c"));
  joined.evidence.converter.policy.folds_scales = true;
  EXPECT_THAT(table_faults(joined, {"x", "t"}), IsEmpty());
  EXPECT_THAT(table_faults(joined, {"x"}), ElementsAre("scale c")) << "a branch has none";
  const auto with_axis = [&](const std::string& axis, std::int64_t channels) {
    GemmCase other = joined;
    other.original_text.replace(other.original_text.find("axis=1"), 6, "axis=" + axis);
    other.artifact_text = other.original_text;
    other.weights["w"] = other.constants["w"] =
        reals({1, channels, 1, 1}, std::vector<double>(static_cast<std::size_t>(channels), 1));
    return table_faults(other, {"x", "t"});
  };
  EXPECT_THAT(with_axis("-3", 2), IsEmpty());
  EXPECT_THAT(with_axis("-1", 1), ElementsAre("scale c")) << "its scales don't differ by channel";
}

TEST(AllowedRange, EntropyByTheFirstBatchTakesTheMiddleOfABin) {
  converters::Options options;
  options.method = converters::Method::entropy;
  options.symmetric = true;
  // The first batch reaches 2, so that a bin is 1/1024; a later one reaches 3, so that it doubles once.
  TensorRange seen;
  seen.low = seen.inner_low = -1;
  seen.high = seen.inner_high = 3;
  seen.first = 2;
  seen.samples = 100;
  seen.is_input = true;
  const auto fits = [&](double bins) {
    const AllowedRange allowed = allowed_range("t", seen, nullptr, options, {}, true);
    const core::QuantParams declared{{float32(bins / 1024 / 127)}, {0}, DType::int8, {}};
    return !check_params(declared, allowed, true, {}).has_value();
  };
  EXPECT_TRUE(fits(2051)) << "1025.5 bins of 2/1024";
  EXPECT_FALSE(fits(2050));
  EXPECT_FALSE(fits(2051.01));
  EXPECT_TRUE(fits(129)) << "as few as the codes need";
  EXPECT_FALSE(fits(119));
  EXPECT_TRUE(fits(4097)) << "2048.5 bins, the last middle";
  EXPECT_FALSE(fits(4099));
  seen.high = 4.5;
  EXPECT_TRUE(fits(8194)) << "doubled twice";
  EXPECT_FALSE(fits(8193));
  // Where the first batch holds the extreme, nothing doubles.
  seen.high = 2;
  EXPECT_TRUE(fits(1500.5));
  EXPECT_FALSE(fits(1500));
  EXPECT_TRUE(fits(2048.5));
  // A forward error of a bin's size leaves nothing to tell.
  seen.is_input = false;
  seen.slack = 1.0 / 1024;
  EXPECT_TRUE(fits(1500.25));
}

}  // namespace
}  // namespace assay::judge
