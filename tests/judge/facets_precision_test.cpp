#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/gemm_fixture.hpp"
#include "tests/judge/judge_fixture.hpp"

namespace assay::judge {
namespace {

using testing::Bench;
using testing::codes;
using ::testing::HasSubstr;
using testing::reals;

TEST(Precision, AFloatOperatorWhereInt8WasAskedIsNotQuantized) {
  Bench bench;
  bench.artifact_text = "a (float[2,3] x) => (float[2,2] y) { y = Gemm<transB=1>(x, w, b) }";
  bench.constants = bench.weights;
  bench.execute();
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::not_quantized);
  EXPECT_EQ(out.gate, Gate::red);
  EXPECT_EQ(out.node, "y");
  bench.evidence.options.precision["Gemm"] = "int8?";
  out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::not_quantized);
  EXPECT_EQ(out.gate, Gate::amber) << "it was only allowed";
  bench.evidence.options.precision["y"] = "fp32";
  EXPECT_EQ(bench.run().verdict, Verdict::pass) << "a node's own name wins";
}

TEST(Precision, TheMapOfTheConverterIsBelievedAgainstItself) {
  Bench bench;
  bench.execute();
  bench.evidence.conversion.precision = {{"y", "Gemm", "fp32"}};
  EXPECT_EQ(bench.run().verdict, Verdict::not_quantized);
  bench.evidence.conversion.precision = {{"y", "Gemm", "int8"}};
  EXPECT_EQ(bench.run().verdict, Verdict::pass);
  Bench lying;
  lying.artifact_text = "a (float[2,3] x) => (float[2,2] y) { y = Gemm<transB=1>(x, w, b) }";
  lying.constants = lying.weights;
  lying.execute();
  lying.evidence.conversion.precision = {{"y", "Gemm", "int8"}};
  const Judgement out = lying.run();
  EXPECT_EQ(out.verdict, Verdict::not_quantized);
  EXPECT_THAT(out.reason, HasSubstr("though the precision map says int8"));
}

TEST(Precision, Int8WhereFloatWasAskedFails) {
  Bench bench;
  bench.execute();
  bench.test_case.expect.precision["Gemm"] = "fp32";
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_EQ(out.facet, Facet::precision);
}

/// The Gemm beside `line`, which makes the output `output` and stays as it is in the artifact.
Judgement judge_beside(const std::string& output, const std::string& line, const std::string& asked_in_int8) {
  Bench bench;
  for (std::string* text : {&bench.original_text, &bench.artifact_text}) {
    text->replace(text->find("y) {"), 4, "y, " + output + ") {");
    text->replace(text->rfind('}'), 1, line + " }");
  }
  bench.constants["k"] = bench.weights["k"] = reals({3, 2}, {0.3, -0.7, 0.1, 0.9, -0.2, 0.6});
  bench.constants["w"] = bench.weights["w"];
  bench.execute();
  if (!asked_in_int8.empty()) bench.evidence.options.precision[asked_in_int8] = "int8";
  return bench.run();
}

TEST(Precision, ShapesAndIndicesHaveNone) {
  const Judgement out = judge_beside("int64[2] n", "n = Shape(x)", "n");
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
}

TEST(Precision, AProductOfConstantsNeedNotRunInInt8) {
  const Judgement out = judge_beside("float[2,2] v", "v = MatMul(w, k)", "");
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
  EXPECT_EQ(judge_beside("float[2,2] v", "v = MatMul(x, k)", "").verdict, Verdict::not_quantized);
  const Judgement asked = judge_beside("float[2,3] v", "v = Transpose(k)", "Transpose");
  EXPECT_EQ(asked.verdict, Verdict::pass) << asked.reason;
}

TEST(Precision, AConstantSlopeOfPReluMayStayInFloat) {
  for (const bool quantized : {true, false}) {
    Bench bench;
    bench.original_text.replace(bench.original_text.find("y) {"), 4, "y, float[2,3] p) { p = PRelu(x, k)");
    bench.artifact_text.replace(bench.artifact_text.find("y) {"), 4, "y, float[2,3] p) {");
    bench.artifact_text.replace(bench.artifact_text.rfind('}'), 1,
                                std::string(" p_float = PRelu(") + (quantized ? "xd" : "x") +
                                    ", k) pq = QuantizeLinear(p_float, ps, pz) p = DequantizeLinear(pq, ps, pz) }");
    bench.weights["k"] = bench.constants["k"] = reals({3}, {0.25, 0.5, 0.75});
    bench.set_scalar("ps", 3.75 / 255);  // from -0.75 to 3
    bench.constants["pz"] = codes(core::DType::int8, {}, {-77});
    bench.evidence.options.precision["PRelu"] = "int8";
    bench.execute();
    const Judgement out = bench.run();
    EXPECT_EQ(out.verdict, quantized ? Verdict::pass : Verdict::not_quantized) << out.reason;
  }
}

TEST(Precision, WhoChoosesWhatRunsInInt8MayLeaveANodeInFloat) {
  Bench bench;
  bench.artifact_text = "a (float[2,3] x) => (float[2,2] y) { y = Gemm<transB=1>(x, w, b) }";
  bench.constants = bench.weights;
  bench.execute();
  bench.test_case.expect.precision["Gemm"] = "int8";
  EXPECT_EQ(bench.run().gate, Gate::red);
  bench.evidence.converter.policy.chooses_int8 = true;
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::not_quantized);
  EXPECT_EQ(out.gate, Gate::amber);
  Bench in_float;
  in_float.execute();
  in_float.test_case.expect.precision["Gemm"] = "fp32";
  in_float.evidence.converter.policy.chooses_int8 = true;
  EXPECT_EQ(in_float.run().verdict, Verdict::fail) << "what is asked for in float stays there";
}

TEST(Precision, AGateMayStayInFloatWhereThePolicySaysSo) {
  const auto in_float = [](const std::string& gated, bool stated) {
    testing::GemmCase gate;
    for (std::string* text : {&gate.original_text, &gate.artifact_text}) {
      *text =
          "g (float[1,2,1,2] x) => (float[1,2,1,2] z) { h = Relu(x) p = GlobalAveragePool(x)"
          " q = Conv<kernel_shape=[1,1]>(p, w) r = Sigmoid(q) z = Mul(" +
          gated + ", r) }";
    }
    gate.weights = gate.constants = {{"w", reals({2, 2, 1, 1}, {1, 2, -4, 0.5})}};
    gate.batches = {{{"x", reals({1, 2, 1, 2}, {-1, 0.5, 1, -0.5})}}};
    gate.evidence.converter.policy.gates_in_float = stated;
    return check_precision(gate.context()).findings.size();
  };
  EXPECT_EQ(in_float("x", false), 1U);
  EXPECT_EQ(in_float("x", true), 0U);
  EXPECT_EQ(in_float("h", true), 1U) << "the average is of another tensor";
}

}  // namespace
}  // namespace assay::judge
