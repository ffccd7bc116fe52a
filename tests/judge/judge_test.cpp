#include "harness/judge/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "harness/core/files.hpp"
#include "tests/judge/judge_fixture.hpp"

namespace assay::judge {
namespace {

using converters::Outcome;
using core::DType;
using testing::Bench;
using testing::codes;
using ::testing::HasSubstr;
using testing::reals;
using testing::Tensor;

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

TEST(Judge, WhereEitherIsRightARefusalSaysWhyAndAConversionIsJudged) {
  Bench bench;
  bench.test_case.expect.status = "either";
  bench.test_case.expect.refused_reason = "\\bx\\b";
  const Judgement converted = bench.run();
  EXPECT_NE(converted.stage, Stage::convert) << converted.reason;
  auto& reply = bench.evidence.conversion;
  for (const Outcome outcome : {Outcome::refused, Outcome::error}) {
    reply = {};
    reply.outcome = outcome;
    reply.node = "y";
    reply.op = "Gemm";
    reply.reason = "the cache has no entry of tensor \"x\"";
    EXPECT_EQ(bench.run().verdict, Verdict::pass) << bench.run().reason;
    reply.reason = "the cache has no entry of node \"y\"";
    EXPECT_THAT(bench.run().reason, HasSubstr("reason doesn't match"));
  }
  reply.outcome = Outcome::crash;
  EXPECT_EQ(bench.run().verdict, Verdict::crash);
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

TEST(Judge, ARefusalOfAnOperatorThatIsNotDeclaredIsUnsupported) {
  Bench bench;
  bench.test_case.expect.status = "refused";
  bench.test_case.expect.refused_node = "s";
  bench.test_case.expect.refused_op = "CumSum";
  auto& reply = bench.evidence.conversion;
  const auto refuse = [&](const std::string& op) {
    reply.outcome = Outcome::refused;
    reply.node = "y";
    reply.op = op;
    reply.reason = "node \"y\" is a " + op;
  };
  const auto err = [&](const std::string& reason) {
    reply = {};
    reply.reason = reason;
  };
  refuse("Gemm");
  EXPECT_EQ(bench.run().verdict, Verdict::refused) << "it may take every operator";
  bench.evidence.converter.supports.operators = {{"Relu", "Add"}};
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::unsupported);
  EXPECT_EQ(out.gate, Gate::neutral);
  EXPECT_EQ(out.reason, "operator Gemm (node \"y\")");
  err("NotImplementedError: Gemm");
  EXPECT_EQ(bench.run().verdict, Verdict::unsupported) << "in words";
  err("GemmError in \"y\"");
  EXPECT_EQ(bench.run().verdict, Verdict::fail) << "part of a word names no operator";
  refuse("Conv");
  EXPECT_EQ(bench.run().verdict, Verdict::refused) << "the model has no Conv";
  refuse("Gemm");
  bench.evidence.converter.supports.operators = {{"Gemm"}};
  EXPECT_EQ(bench.run().verdict, Verdict::refused) << "it says that it takes Gemm";
  bench.evidence.converter.supports.operators = {{"Relu"}};
  bench.test_case.expect.refused_node = "y";
  bench.test_case.expect.refused_op = "Gemm";
  EXPECT_EQ(bench.run().verdict, Verdict::pass) << "what the case expects";
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

TEST(Judge, WhatAnotherExecutorDeclinesIsNoDefect) {
  Bench bench;
  bench.execute();
  converters::ExecuteReply& reply = bench.evidence.executions[0].reply;
  reply.outcome = Outcome::refused;
  reply.node = "y";
  reply.op = "MatMulInteger";
  reply.reason = "this processor has no VNNI";
  EXPECT_EQ(bench.run().verdict, Verdict::fail) << "a converter runs what it made";
  bench.evidence.converter.executed_elsewhere = true;
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::unsupported);
  EXPECT_EQ(out.reason, "node \"y\" (MatMulInteger): this processor has no VNNI");
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

/// What is judged where the artifact is changed, and what it gave stays.
Judgement judged_as(Bench& bench, model::Model artifact) {
  bench.evidence.artifact = std::make_shared<const model::Model>(std::move(artifact));
  ReferenceCache fresh;
  return judge(bench.evidence, fresh, 1000);
}

TEST(Judge, InputsOfTheArtifactKeepTheirType) {
  Bench bench;
  bench.execute();
  model::Model changed = *bench.evidence.artifact;
  EXPECT_EQ(judged_as(bench, changed).verdict, Verdict::pass);
  changed.graph.inputs.front().type = core::DType::float16;
  const Judgement out = judged_as(bench, changed);
  EXPECT_EQ(out.facet, Facet::dtype);
  EXPECT_THAT(out.reason, HasSubstr("input \"x\" of the artifact: expected type float, actual float16"));
}

TEST(Judge, WhatTheArtifactDeclaresInsideHolds) {
  Bench bench;
  bench.execute();
  model::Model changed = *bench.evidence.artifact;
  const std::string codes = changed.graph.nodes.front().outputs.front();
  changed.graph.value_info.push_back({codes, core::DType::undefined, std::vector<model::Dimension>{{2, ""}, {3, ""}}});
  EXPECT_EQ(judged_as(bench, changed).verdict, Verdict::pass) << "the data's shape";
  changed.graph.value_info.back().shape->front() = {4, ""};
  const Judgement out = judged_as(bench, changed);
  EXPECT_EQ(out.facet, Facet::shape);
  EXPECT_THAT(out.reason, HasSubstr("\"" + codes + "\" is declared"));
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

TEST(Judge, AModelThatBreaksAnOperatorsRuleIsItsMakersFault) {
  Bench bench;
  bench.execute();
  bench.original.graph.nodes.front().inputs.resize(9, "x");
  ReferenceCache cache;
  const Judgement out = judge(bench.evidence, cache, 1);
  EXPECT_EQ(out.verdict, Verdict::invalid_case) << out.reason;
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
