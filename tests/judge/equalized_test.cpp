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
  EXPECT_THAT(wrong.found(), ::testing::Contains("weight w"));
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

/// The weight {1, 2, -4, 0.5} of `product`, y of w and x, where an artifact multiplies the rows of x by 2 and 4.
std::vector<double> weight_behind_rows(const std::string& product, const std::string& made) {
  GemmCase rows;
  rows.original_text = "g (float[2,3] x) => (float y) { " + product + " }";
  rows.weights = {{"w", reals({2, 2}, {1, 2, -4, 0.5})}};
  rows.artifact_text =
      "a (float[2,3] x) => (float y) { m = Mul(x, f) xq = QuantizeLinear(m, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
      " wd = DequantizeLinear(wq, xs, xz) " +
      made + " }";
  rows.constants["f"] = reals({2, 1}, {2, 4});
  rows.constants["wq"] = codes(core::DType::int8, {2, 2}, {0, 0, 0, 0});
  rows.context();
  const auto form = equalized(rows.original, rows.evidence.artifact);
  return form == nullptr ? std::vector<double>{} : form->model.graph.initializers.at("w")->to_reals();
}

TEST(EqualizedModel, MayReadItsDataFromTheRightOrTransposed) {
  EXPECT_THAT(weight_behind_rows("y = MatMul(w, x)", "y = MatMul(wd, xd)"), ElementsAre(0.5, 0.5, -2, 0.125));
  EXPECT_THAT(weight_behind_rows("y = Gemm<transA=1>(x, w)", "y = Gemm<transA=1>(xd, wd)"),
              ElementsAre(0.5, 1, -1, 0.125));
  EXPECT_THAT(weight_behind_rows("y = Gemm<transA=1, transB=1>(x, w)", "y = Gemm<transA=1, transB=1>(xd, wd)"),
              ElementsAre(0.5, 0.5, -2, 0.125));
  EXPECT_THAT(weight_behind_rows("y = Gemm<transA=1>(w, x)", "y = Gemm<transA=1>(wd, xd)"),
              ElementsAre(0.5, 1, -1, 0.125));
}

/// A Mul in front of the Gemm, by which the fixture's weights are multiplied: the fixture's artifact has no Mul.
struct Absorbed : GemmCase {
  Absorbed() {
    context();
    model::Model divided = original;
    std::vector<double> values(divided.graph.initializers.at("w")->reals().begin(),
                               divided.graph.initializers.at("w")->reals().end());
    const std::vector<double> factors{2, 4, 0.5};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] /= factors[i % 3];
    divided.graph.initializers["w"] = std::make_shared<const core::Tensor>(reals({2, 3}, values));
    divided.graph.initializers["f"] = std::make_shared<const core::Tensor>(reals({1, 3}, factors));
    model::Node mul;
    mul.name = mul.op_type = "Mul";
    mul.inputs = {"x", "f"};
    mul.outputs = {"m"};
    divided.graph.nodes.front().inputs[0] = "m";
    divided.graph.nodes.insert(divided.graph.nodes.begin(), mul);
    with_mul = std::move(divided);
  }
  model::Model with_mul;
};

TEST(AbsorbedModel, HasTheWeightsOfTheProductBehindTheMul) {
  Absorbed gemm;
  const auto form = absorbed(gemm.with_mul, gemm.evidence.artifact);
  ASSERT_NE(form, nullptr);
  ASSERT_EQ(form->model.graph.nodes.size(), 1U);
  const model::Node& node = form->model.graph.nodes.front();
  EXPECT_EQ(node.inputs[0], "x");
  EXPECT_EQ(form->model.graph.initializers.at(node.inputs[1])->to_reals(),
            gemm.original.graph.initializers.at("w")->to_reals());
}

TEST(AbsorbedModel, IsNoneWhereTheMulLiesAlongAnotherAxisOrIsAnOutput) {
  Absorbed column;
  column.with_mul.graph.initializers["f"] = std::make_shared<const core::Tensor>(reals({2, 1}, {2, 4}));
  EXPECT_EQ(absorbed(column.with_mul, column.evidence.artifact), nullptr);
  Absorbed shown;
  shown.with_mul.graph.outputs.push_back(shown.with_mul.graph.outputs.front());
  shown.with_mul.graph.outputs.back().name = "m";
  EXPECT_EQ(absorbed(shown.with_mul, shown.evidence.artifact), nullptr);
  EXPECT_EQ(absorbed(shown.original, shown.evidence.artifact), nullptr) << "nothing to fold";
}

}  // namespace
}  // namespace assay::judge
