#include "harness/judge/alignment/equalized.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using testing::brief;
using testing::codes;
using ::testing::ElementsAre;
using testing::float32;
using testing::GemmCase;
using ::testing::IsEmpty;
using testing::reals;

/// The Gemm on x·{2, 4, 0.5}: x's columns span [-1, 2], [0, 3] and [-1, 1], so that the product spans [-2, 12], and
/// w's rows are {0.5, 0.5, -8} and {0.25, -0.0625, 0.25}.
struct Equalized : GemmCase {
  Equalized() {
    artifact_text =
        "a (float[2,3] x) => (float[2,2] y) {"
        " m = Mul(x, f) xq = QuantizeLinear(m, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " wd = DequantizeLinear<axis=0>(wq, ws, wz) bd = DequantizeLinear<axis=0>(bq, bs)"
        " y_float = Gemm<transB=1>(xd, wd, bd)"
        " yq = QuantizeLinear(y_float, ys, yz) y = DequantizeLinear(yq, ys, yz) }";
    const double xs = float32(14.0 / 255), w0 = float32(8.0 / 127), w1 = float32(0.25 / 127);
    set_scalar("xs", xs);
    constants["xz"] = codes(core::DType::int8, {}, {-92});  // -128 + 36.43
    constants["f"] = reals({1, 3}, {2, 4, 0.5});
    constants["ws"] = reals({2}, {w0, w1});
    constants["wq"] = codes(core::DType::int8, {2, 3}, {8, 8, -127, 127, -32, 127});
    constants["bs"] = reals({2}, {float32(xs * w0), float32(xs * w1)});
    constants["bq"] = codes(core::DType::int32, {2}, {145, -9253});
  }
  std::vector<std::string> found() {
    context();
    evidence.form = equalized(original, evidence.artifact);
    if (evidence.form == nullptr) return {"nothing"};
    original = evidence.form->model;
    view.emplace(ArtifactView::build(evidence.artifact, original).value());
    calibration = cache.ranges(original, model_key(original, ""), batches, {}).value();
    const LayerContext layers{evidence, &*view, align(evidence, &*view), {}, &calibration->ranges, {}, 1000};
    Judgement out;
    return brief(audit_parameters(layers, *calibration, out));
  }
};

TEST(EqualizedModel, IsJudgedLikeAnyOther) { EXPECT_THAT(Equalized().found(), IsEmpty()); }

TEST(EqualizedModel, HasTheWeightsDividedByTheFactorThatIsThere) {
  Equalized wrong;
  wrong.constants["f"] = reals({1, 3}, {2, 2, 0.5});  // and the weights are those of 4
  EXPECT_THAT(wrong.found(), ::testing::Contains("weight w_divided"));
}

TEST(EqualizedModel, HasTheRangeOfWhatTheFactorMakes) {
  Equalized wrong;
  wrong.set_scalar("xs", 7.0 / 255);
  EXPECT_THAT(wrong.found(), ::testing::Contains("scale m"));
}

TEST(EqualizedModel, IsNoneWhereTheFactorLiesAlongAnotherAxisOrIsZeroOrNothingWasPutIn) {
  Equalized column;
  column.constants["f"] = reals({2, 1}, {2, 4});
  EXPECT_THAT(column.found(), ElementsAre("nothing"));
  Equalized zero;
  zero.constants["f"] = reals({1, 3}, {2, 0, 0.5});
  EXPECT_THAT(zero.found(), ElementsAre("nothing"));
  GemmCase plain;
  plain.context();
  EXPECT_EQ(equalized(plain.original, plain.evidence.artifact), nullptr);
}

}  // namespace
}  // namespace assay::judge
