#include "harness/judge/facets/coverage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/judge_fixture.hpp"

namespace assay::judge {
namespace {

using testing::Bench;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Coverage, APassCoversEveryNodeAndOutput) {
  Bench bench;
  bench.execute();
  const Judgement out = bench.run();
  ASSERT_EQ(out.verdict, Verdict::pass) << out.reason;
  EXPECT_TRUE(out.coverage.applies);
  EXPECT_EQ(out.coverage.judged_nodes(), out.coverage.nodes.size());
  EXPECT_GT(out.coverage.least_output(), 0);
}

TEST(Coverage, AnArtifactWithoutItsCalibrationDataIsUnjudged) {
  Bench bench;
  bench.execute();
  bench.evidence.calibration = nullptr;
  ReferenceCache fresh;
  const Judgement out = judge(bench.evidence, fresh, 1000);
  EXPECT_EQ(out.verdict, Verdict::unjudged);
  EXPECT_EQ(out.gate, Gate::amber);
  EXPECT_THAT(out.reason, HasSubstr("--calibration"));
  EXPECT_THAT(out.layers, Not(::testing::Contains("L0"))) << "ranges were not audited";
}

TEST(Coverage, UnjudgedIsRedWhereJudgingIsRequired) {
  Bench bench;
  bench.execute();
  bench.evidence.calibration = nullptr;
  bench.evidence.require_judged = true;
  ReferenceCache fresh;
  EXPECT_EQ(judge(bench.evidence, fresh, 1000).gate, Gate::red);
}

TEST(Coverage, NodesBehindWhichAnOutputIsNotReachedAreNamed) {
  Bench bench;
  bench.execute();
  const LayerContext& context = bench.context();
  Coverage coverage;
  coverage.outputs["y"] = 0;
  coverage.miss("y", "nobody looked");
  cover_nodes(context, coverage);
  EXPECT_EQ(coverage.judged_nodes(), 0U);
  EXPECT_THAT(coverage.nodes, Each(Field(&Coverage::Node::reason, HasSubstr("nobody looked"))));
  EXPECT_THAT(unjudged_reason(context, coverage), HasSubstr("output \"y\""));
}

TEST(Coverage, WhatWasJudgedOnItsOwnValuesCounts) {
  Bench bench;
  bench.execute();
  Coverage coverage;
  coverage.outputs["y"] = 0;
  coverage.locally = {0};
  cover_nodes(bench.context(), coverage);
  EXPECT_EQ(coverage.judged_nodes(), 1U);
}

TEST(Coverage, AnOutputWithoutElementsHasNothingToJudge) {
  Coverage coverage;
  EXPECT_EQ(coverage.least_output(), 1);
  coverage.reach("y", 0.25);
  coverage.reach("y", 0.5);
  coverage.reach("y", 0.125);
  EXPECT_EQ(coverage.least_output(), 0.5) << "the widest reach of several limits";
}

}  // namespace
}  // namespace assay::judge
