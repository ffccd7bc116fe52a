#include "harness/judge/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "harness/core/files.hpp"
#include "reference/executor.hpp"
#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using converters::Outcome;
using core::DType;
using testing::codes;
using testing::GemmCase;
using ::testing::HasSubstr;
using testing::reals;
using testing::Tensor;

/// The hand-worked Gemm, executed by the reference's exact arithmetic unless a test puts other outputs in.
struct Bench : GemmCase {
  Bench() { evidence.converter.supports.artifact = "qdq"; }
  Execution& execute(const std::string& data_set, const Tensor& x) {
    context();
    Execution execution;
    execution.data_set = data_set;
    execution.inputs = {{"x", x}};
    execution.reply.outcome = Outcome::ok;
    execution.outputs = reference::execute(*evidence.artifact, execution.inputs).value();
    evidence.executions.push_back(std::move(execution));
    return evidence.executions.back();
  }
  Execution& execute() { return execute("typical", reals({2, 3}, {-0.9, 2.5, 1.1, 1.7, 0.3, -0.4})); }
  Judgement run() {
    context();
    ReferenceCache fresh;
    return judge(evidence, fresh, 1000);
  }
};

TEST(Judge, ACorrectConversionPasses) {
  Bench bench;
  bench.execute();
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
  EXPECT_EQ(out.gate, Gate::green);
  EXPECT_FALSE(out.facet.has_value());
  ASSERT_TRUE(out.sqnr_db.has_value());
  EXPECT_GT(*out.sqnr_db, 30);
  EXPECT_THAT(out.layers, ::testing::Contains("L0"));
}

TEST(Judge, DeathsAreTheirOwnVerdicts) {
  for (const auto& [outcome, verdict] : std::vector<std::pair<Outcome, Verdict>>{
           {Outcome::crash, Verdict::crash}, {Outcome::timeout, Verdict::timeout}, {Outcome::oom, Verdict::oom}}) {
    Bench bench;
    bench.evidence.conversion.outcome = outcome;
    bench.evidence.conversion.reason = "signal 11 (SIGSEGV)";
    Judgement out = bench.run();
    EXPECT_EQ(out.verdict, verdict);
    EXPECT_EQ(out.stage, Stage::convert);
    EXPECT_THAT(out.reason, HasSubstr("SIGSEGV"));
    // An expected refusal is no excuse.
    bench.test_case.expect.status = "refused";
    EXPECT_EQ(bench.run().verdict, verdict);
    Bench executing;
    executing.execute().reply.outcome = outcome;
    out = executing.run();
    EXPECT_EQ(out.verdict, verdict);
    EXPECT_EQ(out.stage, Stage::execute);
  }
}

TEST(Judge, AnErrorWhereAConversionIsExpectedFailsAtStatus) {
  Bench bench;
  bench.evidence.conversion.outcome = Outcome::error;
  bench.evidence.conversion.reason = "_Map_base::at";
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_EQ(out.stage, Stage::convert);
  EXPECT_EQ(out.facet, Facet::status);
  EXPECT_THAT(out.reason, HasSubstr("_Map_base::at"));
}

TEST(Judge, ARefusalWhereAConversionIsExpectedIsRefused) {
  Bench bench;
  bench.evidence.conversion.outcome = Outcome::refused;
  bench.evidence.conversion.node = "y";
  bench.evidence.conversion.op = "Gemm";
  bench.evidence.conversion.reason = "no";
  EXPECT_EQ(bench.run().verdict, Verdict::refused);
  bench.evidence.conversion.node.clear();
  EXPECT_THAT(bench.run().reason, HasSubstr("without naming node"));
}

TEST(Judge, WhatAnAdapterCannotAskIsUnsupportedEvenWhereARefusalIsExpected) {
  Bench bench;
  bench.evidence.conversion.outcome = Outcome::unsupported;
  bench.evidence.conversion.reason = "the importer has no CumSum";
  for (const char* expected : {"converts", "refused"}) {
    bench.test_case.expect.status = expected;
    const Judgement out = bench.run();
    EXPECT_EQ(out.verdict, Verdict::unsupported);
    EXPECT_EQ(out.gate, Gate::neutral);
    EXPECT_EQ(out.reason, "the importer has no CumSum");
    EXPECT_TRUE(out.findings.empty());
  }
  Bench executed;
  executed.execute();
  executed.evidence.executions[0].reply.outcome = Outcome::unsupported;
  EXPECT_EQ(executed.run().verdict, Verdict::unsupported);
}

TEST(Judge, AnExpectedRefusalPassesOnlyWithNodeOperatorAndReason) {
  Bench bench;
  bench.test_case.expect.status = "refused";
  bench.test_case.expect.refused_node = "y";
  bench.test_case.expect.refused_op = "Gemm";
  bench.test_case.expect.refused_reason = "no int8 form";
  auto& reply = bench.evidence.conversion;
  reply.outcome = Outcome::refused;
  reply.node = "y";
  reply.op = "Gemm";
  reply.reason = "no INT8 form and float fallback is off";
  EXPECT_EQ(bench.run().verdict, Verdict::pass);

  reply.node = "x";
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::refused);
  EXPECT_EQ(out.facet, Facet::diagnostics);
  EXPECT_THAT(out.reason, HasSubstr("expected node \"y\", actual \"x\""));
  reply.node = "y";
  reply.op.clear();
  EXPECT_THAT(bench.run().reason, HasSubstr("expected operator Gemm"));
  reply.op = "Gemm";
  reply.reason = "something else";
  EXPECT_EQ(bench.run().facet, Facet::diagnostics);
  reply.reason.clear();
  EXPECT_THAT(bench.run().reason, HasSubstr("no reason given"));
  reply.outcome = Outcome::error;
  EXPECT_EQ(bench.run().verdict, Verdict::fail);
  reply.node.clear();
  reply.op.clear();
  reply.reason = "status 1 while running Gemm node. Name:'y': no INT8 form";
  EXPECT_EQ(bench.run().verdict, Verdict::pass) << "an error has no fields for them";
  reply.outcome = Outcome::refused;
  EXPECT_EQ(bench.run().facet, Facet::diagnostics) << "a refusal has";
  reply.outcome = Outcome::ok;
  out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_EQ(out.facet, Facet::status);
  EXPECT_THAT(out.reason, HasSubstr("expected a refusal of node \"y\" (Gemm), but the conversion succeeded"));
}

TEST(Judge, AnErrorThatNamesNothingIsAlsoADiagnosticsFinding) {
  Bench bench;
  bench.evidence.conversion.outcome = Outcome::error;
  bench.evidence.conversion.reason = "_Map_base::at";
  Judgement out = bench.run();
  EXPECT_EQ(out.facet, Facet::status);
  ASSERT_EQ(out.findings.size(), 2U);
  EXPECT_EQ(out.findings[1].facet, Facet::diagnostics);
  bench.evidence.conversion.node = "y";
  bench.evidence.conversion.op = "Gemm";
  EXPECT_EQ(bench.run().findings.size(), 1U);
  // The same of an executor's.
  bench.evidence.conversion = {};
  bench.evidence.conversion.outcome = Outcome::ok;
  bench.execute();
  bench.evidence.executions[0].reply.outcome = Outcome::error;
  bench.evidence.executions[0].reply.reason = "_Map_base::at";
  out = bench.run();
  ASSERT_EQ(out.findings.size(), 2U);
  EXPECT_EQ(out.findings[1].facet, Facet::diagnostics);
  EXPECT_EQ(out.findings[1].stage, Stage::execute);
}

TEST(Judge, AStatedFloorBuysNoNumbers) {
  Bench bench;
  bench.evidence.converter.policy.scale_floor = 100;
  // Everything is far below a step of 100, so every code is that of zero.
  for (const char* name : {"xs", "ys"}) bench.set_scalar(name, 100);
  for (const char* name : {"xz", "yz"}) bench.constants[name] = codes(DType::int8, {}, {-128});
  bench.constants["ws"] = reals({2}, {100, 100});
  bench.constants["wq"] = codes(DType::int8, {2, 3}, {0, 0, 0, 0, 0, 0});
  bench.constants["bs"] = reals({2}, {10000, 10000});
  bench.constants["bq"] = codes(DType::int32, {2}, {0, 0});
  EXPECT_THAT(bench.faults(), ::testing::IsEmpty()) << "the floor relaxes the audit";
  bench.execute();
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_EQ(out.facet, Facet::numerics) << out.reason;
}

TEST(Judge, ARefusalThatNamesNothingOfTheModelIsNoDiagnosis) {
  Bench bench;
  bench.test_case.expect.status = "refused";
  bench.evidence.conversion.outcome = Outcome::refused;
  bench.evidence.conversion.reason = "failed";
  EXPECT_EQ(bench.run().facet, Facet::diagnostics);
  bench.original_text.replace(bench.original_text.find("] x)"), 4, "] image)");
  bench.original_text.replace(bench.original_text.find("(x, w"), 5, "(image, w");
  bench.batches = {{{"image", bench.batches[0]["x"]}}};
  bench.evidence.conversion.reason = "calibration data for \"image\" is missing";
  EXPECT_EQ(bench.run().verdict, Verdict::pass);
}

TEST(Judge, ARefusalThatLeavesAFileBehindFails) {
  auto folder = core::TemporaryFolder::create();
  ASSERT_TRUE(folder);
  Bench bench;
  bench.test_case.expect.status = "refused";
  bench.evidence.conversion.outcome = Outcome::refused;
  bench.evidence.conversion.node = "y";
  bench.evidence.conversion.op = "Gemm";
  bench.evidence.conversion.reason = "no";
  bench.evidence.output_folder = folder->path();
  EXPECT_EQ(bench.run().verdict, Verdict::pass);
  std::ofstream(folder->path() / "model.onnx") << "half";
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_THAT(out.reason, HasSubstr("model.onnx"));
}

TEST(Judge, ABrokenPatternOfTheCaseIsTheCasesFault) {
  Bench bench;
  bench.test_case.expect.diagnostics = {"("};
  EXPECT_EQ(bench.run().verdict, Verdict::invalid_case);
}

TEST(Judge, ExpectedDiagnosticsMustAppear) {
  Bench bench;
  bench.execute();
  bench.test_case.expect.diagnostics = {"falls back .* float"};
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_EQ(out.facet, Facet::diagnostics);
  bench.evidence.conversion.diagnostics = {"hello", "node y falls back to float"};
  EXPECT_EQ(bench.run().verdict, Verdict::pass);
}

TEST(Judge, WhatReportsPromisesMustBeThere) {
  Bench bench;
  bench.execute();
  bench.evidence.converter.supports.reports = {"tensors", "precision"};
  const Judgement out = bench.run();
  EXPECT_EQ(out.facet, Facet::diagnostics);
  EXPECT_EQ(out.findings.size(), 2U);
}

TEST(Judge, AnArtifactThatCannotBeReadFailsAtItsStage) {
  Bench bench;
  bench.context();
  bench.evidence.artifact = nullptr;
  bench.evidence.artifact_error = "truncated";
  ReferenceCache cache;
  const Judgement out = judge(bench.evidence, cache, 1);
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_EQ(out.stage, Stage::artifact);
  EXPECT_THAT(out.reason, HasSubstr("truncated"));
}

TEST(Judge, AMissingOutputIsCountedAndARenamedOneNamed) {
  Bench missing;
  missing.execute().outputs.clear();
  EXPECT_EQ(missing.run().facet, Facet::count);
  Bench renamed;
  auto& outputs = renamed.execute().outputs;
  outputs["z"] = outputs["y"];
  outputs.erase("y");
  const Judgement out = renamed.run();
  EXPECT_EQ(out.facet, Facet::names);
  EXPECT_THAT(out.reason, HasSubstr("missing \"y\", not asked for \"z\""));
}

TEST(Judge, ShapesAreComparedByRankAndExtent) {
  for (const core::Shape& shape : {core::Shape{4}, core::Shape{1, 4}, core::Shape{2, 2, 1}}) {
    Bench bench;
    auto& y = bench.execute().outputs["y"];
    y = y.reshaped(shape);
    const Judgement out = bench.run();
    EXPECT_EQ(out.facet, Facet::shape) << core::shape_text(shape);
    EXPECT_THAT(out.reason, HasSubstr("expected shape [2,2], actual " + core::shape_text(shape)));
  }
  Bench empty;
  empty.execute().outputs["y"] = reals({0, 2}, {});
  EXPECT_EQ(empty.run().facet, Facet::shape);
}

TEST(Judge, ACaseMayDemandAShapeAndAType) {
  Bench bench;
  bench.execute();
  bench.test_case.expect.shape["y"] = {2, 2};
  bench.test_case.expect.dtype["y"] = "float32";
  EXPECT_EQ(bench.run().verdict, Verdict::pass);
  bench.test_case.expect.shape["y"] = {2, 3};
  EXPECT_EQ(bench.run().facet, Facet::shape);
  bench.test_case.expect.shape.clear();
  bench.test_case.expect.dtype["y"] = "int8";
  EXPECT_EQ(bench.run().facet, Facet::dtype);
}

TEST(Judge, TheTypeOfAnOutputIsPartOfIt) {
  Bench bench;
  auto& y = bench.execute().outputs["y"];
  y = Tensor(DType::float64, y.shape(), y.to_reals());
  EXPECT_EQ(bench.run().facet, Facet::dtype);
  y = codes(DType::int8, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(bench.run().facet, Facet::dtype);
}

TEST(Judge, NanAndInfinityAreSeenAndNumbersAreNotComparedThen) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Bench bench;
    bench.execute().outputs["y"].reals()[3] = bad;
    const Judgement out = bench.run();
    EXPECT_EQ(out.facet, Facet::nan);
    EXPECT_THAT(out.reason, HasSubstr("1 of 4 elements"));
    EXPECT_THAT(out.reason, HasSubstr("flat index 3"));
  }
}

TEST(Judge, OutputsOfTheArtifactKeepTheirOrder) {
  Bench bench;
  bench.execute();
  bench.test_case.expect.outputs = {{"other", "y"}};
  EXPECT_EQ(bench.run().facet, Facet::count);
}

TEST(Judge, FindingsOfTheRunnerTakePart) {
  Bench bench;
  bench.execute();
  Finding finding;
  finding.facet = Facet::determinism;
  finding.message = "outputs changed";
  bench.evidence.recorded.push_back(finding);
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_EQ(out.facet, Facet::determinism);
}

TEST(Judge, TheFirstFacetIsTheHeadlineAndTheRestIsRecorded) {
  Bench bench;
  bench.constants["yz"] = codes(DType::int8, {}, {-60});
  bench.constants["wq"] = codes(DType::int8, {2, 3}, {31, 64, -127, 127, -64, 32});
  bench.execute();
  const Judgement out = bench.run();
  EXPECT_EQ(out.facet, Facet::zero_point);
  EXPECT_GE(out.findings.size(), 2U);
  EXPECT_EQ(out.findings[1].facet, Facet::weight);
}

TEST(Judge, CalibrationThatTheReferenceCannotRunIsTheHarnesssFault) {
  Bench bench;
  bench.execute();
  bench.batches[0]["x"] = reals({3}, {1, 2, 3});
  bench.evidence.calibration = &bench.batches;
  ReferenceCache cache;
  const Judgement out = judge(bench.evidence, cache, 1);
  EXPECT_EQ(out.verdict, Verdict::harness_error);
  EXPECT_EQ(out.stage, Stage::float_run);
}

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

TEST(Judge, AConstantThatTheArtifactComputesInFloatHasFloat32sError) {
  for (const double steps : {0.0, 1.0, 20.0}) {
    Bench bench;
    for (std::string* text : {&bench.original_text, &bench.artifact_text}) {
      text->replace(text->find("y) {"), 4, "y, float[2,2] v) { v = MatMul(w, k)");
    }
    bench.constants["k"] = bench.weights["k"] = reals({3, 2}, {0.3, -0.7, 0.1, 0.9, -0.2, 0.6});
    bench.constants["w"] = bench.weights["w"];
    double& first = bench.execute().outputs["v"].reals()[0];  // 1.3, whose last place is 2^-23
    first += steps * 0x1p-23;
    const Judgement out = bench.run();
    EXPECT_EQ(out.verdict, steps > 1 ? Verdict::fail : Verdict::pass) << steps << ": " << out.reason;
  }
}

TEST(Trust, ZeroOutputsProveNothing) {
  Bench bench;
  bench.weights["w"] = reals({2, 3}, {0, 0, 0, 0, 0, 0});
  bench.weights["b"] = reals({2}, {0, 0});
  bench.constants["wq"] = codes(DType::int8, {2, 3}, {0, 0, 0, 0, 0, 0});
  bench.constants["bq"] = codes(DType::int32, {2}, {0, 0});
  bench.execute();
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted) << out.reason;
  EXPECT_EQ(out.gate, Gate::red);
  bench.test_case.tags = {"imported"};
  EXPECT_EQ(bench.run().gate, Gate::amber);
}

TEST(Trust, ZeroPointsThatAreAllZeroProveNothingAboutThem) {
  Bench bench;
  bench.batches = {{{"x", reals({2, 3}, {0, 3, 1, 2, 0, 1})}}};
  bench.evidence.options.activation = DType::uint8;
  bench.original_text = "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }";
  bench.weights.clear();
  bench.artifact_text =
      "a (float[2,3] x) => (float[2,3] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) r = Relu(xd)"
      " yq = QuantizeLinear(r, s, z) y = DequantizeLinear(yq, s, z) }";
  bench.constants = {{"s", Tensor::scalar(DType::float32, testing::float32(3.0 / 255))},
                     {"z", codes(DType::uint8, {}, {0})}};
  bench.execute("typical", reals({2, 3}, {1, 2, 0.3, 1.7, 0.3, 0.4}));
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted);
  EXPECT_THAT(out.reason, HasSubstr("zero_point is 0"));
}

TEST(Trust, ASaturatingDataSetMustSaturate) {
  Bench bench;
  bench.test_case.inputs["x"].data_sets = {"typical", "saturate"};
  bench.execute();
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted);
  EXPECT_THAT(out.reason, HasSubstr("saturate"));
  bench.execute("saturate", reals({2, 3}, {-0.9, 3.5, 1.1, 1.7, 0.3, -1.4}));
  out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
}

TEST(Trust, SymmetricOptionsAskForNoZeroPoints) {
  Bench bench;
  bench.evidence.options.symmetric = true;
  bench.original_text = "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }";
  bench.weights.clear();
  bench.artifact_text =
      "a (float[2,3] x) => (float[2,3] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) r = Relu(xd)"
      " yq = QuantizeLinear(r, s, z) y = DequantizeLinear(yq, s, z) }";
  bench.constants = {{"s", Tensor::scalar(DType::float32, testing::float32(3.0 / 127))},
                     {"z", codes(DType::int8, {}, {0})}};
  bench.execute("typical", reals({2, 3}, {1, 2, -0.3, 1.7, 0.3, 0.4}));
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
}

TEST(Trust, ChannelsThatAreAlikeProveNothingAboutTheirAxis) {
  Bench bench;
  bench.weights["w"] = reals({2, 3}, {1, 2, -4, 4, -0.25, 0.125});
  bench.constants["wq"] = codes(DType::int8, {2, 3}, {32, 64, -127, 127, -8, 4});
  const double scale = testing::float32(4.0 / 127), input = testing::float32(4.0 / 255);
  bench.constants["ws"] = reals({2}, {scale, scale});
  bench.constants["bs"] = reals({2}, {testing::float32(input * scale), testing::float32(input * scale)});
  bench.constants["bq"] = codes(DType::int32, {2}, {1012, -2024});
  bench.batches = {{{"x", reals({2, 3}, {-1, 3, 1, 2, 0, -1})}}};
  // y = x·wᵀ + b of the batch: {1.5, -5.625, 6.5, 6.875}, so s_y = 12.5/255 and z_y = round(-128 + 114.75) = -13.
  bench.set_scalar("ys", 12.5 / 255);
  bench.constants["yz"] = codes(DType::int8, {}, {-13});
  bench.execute();
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted) << out.reason;
  EXPECT_THAT(out.reason, HasSubstr("channels of every weight are alike"));
}

TEST(Trust, OutputsAtOneEndProveNothing) {
  Bench bench;
  bench.execute("typical", reals({2, 3}, {2.9, 3, -1, 3, 3, -1}));
  bench.evidence.executions.front().outputs =
      reference::execute(*bench.evidence.artifact, bench.evidence.executions.front().inputs).value();
  Judgement out = bench.run();
  ASSERT_NE(out.verdict, Verdict::mistrusted) << "half of the outputs discriminate: " << out.reason;
  bench.original_text = "g (float[2,3] x) => (float[2,3] y) { y = Clip(x, l, h) }";
  bench.weights = {{"l", Tensor::scalar(DType::float32, -0.5)}, {"h", Tensor::scalar(DType::float32, 0.5)}};
  bench.artifact_text =
      "a (float[2,3] x) => (float[2,3] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " r = Clip(xd, l, h) yq = QuantizeLinear(r, ys, yz) y = DequantizeLinear(yq, ys, yz) }";
  bench.constants = {{"s", Tensor::scalar(DType::float32, testing::float32(4.0 / 255))},
                     {"z", codes(DType::int8, {}, {-64})},
                     {"ys", Tensor::scalar(DType::float32, testing::float32(1.0 / 255))},
                     {"yz", codes(DType::int8, {}, {0})},
                     {"l", Tensor::scalar(DType::float32, -0.5)},
                     {"h", Tensor::scalar(DType::float32, 0.5)}};
  bench.evidence.executions.clear();
  bench.execute("typical", reals({2, 3}, {2.9, 3, 1, 3, 3, 1}));
  out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted) << out.reason;
  EXPECT_THAT(out.reason, HasSubstr("sit at one end"));
}

TEST(Trust, CountsOverTheUnionOfTheDataSets) {
  Bench bench;
  bench.execute("zeros", reals({2, 3}, {0, 0, 0, 0, 0, 0}));
  bench.execute();
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::pass) << "one set that proves nothing is no matter: " << out.reason;
}

TEST(Unsupported, IsWhatTheDescriptionLeavesOut) {
  Bench bench;
  bench.context();
  bench.test_case.model = std::make_shared<const model::Model>(bench.original);
  converters::Description description;
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt)
      << "left out: try it";
  description.supports.activation = {{"uint8"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "activation int8");
  description.supports.activation = {{"int8"}};
  description.supports.operators = {{"Conv"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "operator Gemm (node \"y\")");
  description.supports.operators = {{"Gemm"}};
  description.supports.int8_operators = {{"Conv"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt)
      << "nothing is said of the Gemm's precision";
  bench.test_case.expect.precision = {{"Gemm", "int8"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "an INT8 form of operator Gemm (node \"y\")");
  bench.test_case.expect.status = "refused";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt);
  bench.test_case.expect.status = "converts";
  description.supports.int8_operators = {{"Gemm"}};
  bench.test_case.expect.precision = {{"Gemm", "fp32"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "the lack of an INT8 form of operator Gemm (node \"y\")");
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options, false), std::nullopt)
      << "a later step may ask for it";
  bench.evidence.options.precision = {{"y", "fp32"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt) << "asked for";
  bench.evidence.options.precision = {{"y", "int8"}};
  bench.test_case.expect.status = "refused";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt)
      << "refused for another reason";
  bench.test_case.expect.refused_op = "Gemm";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "the lack of an INT8 form of operator Gemm (node \"y\")");
  bench.test_case.expect.refused_op.reset();
  bench.test_case.steps.resize(1);
  bench.test_case.steps.front().feed.cache = "stale";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "a calibration cache");
  description.supports.reports = {"cache"};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt);
  description.supports.method = {{"entropy"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "method minmax");
}

TEST(AuditedInputs, FollowTheCalibrationData) {
  Bench bench;
  bench.context();
  const auto params = audited_input_params(bench.evidence);
  ASSERT_TRUE(params.contains("x"));
  EXPECT_EQ(params.at("x").zero_point.front(), -64);
  bench.batches[0]["x"].reals()[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(audited_input_params(bench.evidence).empty());
}

TEST(ReferenceCache, RunsTheSameContentOnce) {
  Bench bench;
  bench.execute();
  ReferenceCache cache;
  bench.context();
  (void)judge(bench.evidence, cache, 1);
  const std::size_t runs = cache.executions();
  EXPECT_EQ(runs, 2U) << "one calibration batch, one data set";
  bench.evidence.options.symmetric = true;
  (void)judge(bench.evidence, cache, 1);
  EXPECT_EQ(cache.executions(), runs);
}

}  // namespace
}  // namespace assay::judge
