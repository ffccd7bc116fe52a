// Weights alone are quantized: what is asked of their scales, blocks and signs, and of everything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/judge_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::Bench;
using testing::codes;
using testing::reals;
using ::testing::HasSubstr;

/// The fixture's Gemm with w's codes and everything else in float.
struct StoredWeights : Bench {
  StoredWeights() {
    artifact_text =
        "a (float[2,3] x) => (float[2,2] y) { wd = DequantizeLinear<axis=0>(wq, ws, wz) y = Gemm<transB=1>(x, wd, b) }";
    constants = {
        {"wq", constants.at("wq")}, {"ws", constants.at("ws")}, {"wz", constants.at("wz")}, {"b", weights.at("b")}};
    evidence.options.activation = DType::undefined;
    evidence.options.symmetric = true;
  }
  Judgement judged() {
    execute();
    return run();
  }
};

/// Blocks of two along what is summed: 2, 4, 0.5 and 0.125 are their largest magnitudes.
struct StoredBlocks : StoredWeights {
  StoredBlocks() {
    artifact_text =
        "a (float[2,3] x) => (float[2,2] y) {"
        " wd = DequantizeLinear<axis=1, block_size=2>(wq, ws, wz) y = Gemm<transB=1>(x, wd, b) }";
    constants["ws"] = reals({2, 2}, {2.0F / 127, 4.0F / 127, 0.5F / 127, 0.125F / 127});
    constants["wz"] = codes(DType::int8, {2, 2}, {0, 0, 0, 0});
    constants["wq"] = codes(DType::int8, {2, 3}, {64, 127, -127, 127, -64, 127});
    evidence.options.block = 2;
    artifact_opset = 21;
  }
};

TEST(StoredWeights, RightOnesPassWithoutCalibrationDataToo) {
  StoredWeights bench;
  const Judgement out = bench.judged();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
  bench.evidence.calibration = nullptr;
  ReferenceCache fresh;
  const Judgement ready = judge(bench.evidence, fresh, 1000);
  EXPECT_EQ(ready.verdict, Verdict::pass) << ready.reason;
}

TEST(StoredWeights, AQuantizedActivationIsSaid) {
  Bench bench;
  bench.evidence.options.activation = DType::undefined;
  bench.evidence.options.symmetric = true;
  bench.execute();
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_THAT(out.reason, HasSubstr("weights alone are to be"));
}

TEST(StoredWeights, AWeightThatStaysRealIsNotQuantized) {
  StoredWeights bench;
  bench.artifact_text = "a (float[2,3] x) => (float[2,2] y) { y = Gemm<transB=1>(x, w, b) }";
  bench.constants = bench.weights;
  EXPECT_EQ(bench.judged().verdict, Verdict::not_quantized);
}

TEST(StoredWeights, BlocksLieAlongWhatIsSummed) {
  StoredBlocks right;
  const Judgement out = right.judged();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
  StoredBlocks longer;
  longer.evidence.options.block = 3;
  EXPECT_THAT(longer.judged().reason, HasSubstr("expected blocks of 3 along axis 1"));
  StoredBlocks none;
  none.evidence.options.block = 0;
  EXPECT_THAT(none.judged().reason, HasSubstr("expected no blocks"));
  StoredBlocks swapped;
  swapped.constants["ws"] = reals({2, 2}, {2.0F / 127, 0.5F / 127, 4.0F / 127, 0.125F / 127});
  EXPECT_THAT(swapped.judged().reason, HasSubstr("2 of 4 scales differ"));
}

TEST(StoredWeights, AScaleHasASignOnlyWhereThePolicySaysSo) {
  StoredWeights bench;
  bench.constants["ws"] = reals({2}, {4.0 / 128, -0.5 / 128});
  bench.constants["wq"] = codes(DType::int8, {2, 3}, {32, 64, -128, -128, 64, -32});
  bench.evidence.converter.policy.divisor = 128;
  EXPECT_EQ(bench.judged().verdict, Verdict::fail);
  bench.evidence.executions.clear();
  bench.evidence.converter.policy.signed_scales = true;
  const Judgement out = bench.judged();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
}

}  // namespace
}  // namespace assay::judge
