#include "harness/judge/alignment/rescaled.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using testing::brief;
using testing::codes;
using testing::float32;
using testing::GemmCase;
using ::testing::IsEmpty;
using testing::reals;

/// Two Gemms with a Relu between. The first one's outputs are multiplied by 2 and 0.5, the second one's weights divided
/// by the same; one scale for each weight.
struct TwoLayers : GemmCase {
  std::array<double, 2> factors{2, 0.5}, divisors{2, 0.5};
  std::array<double, 6> w{1, 2, -4, 0.5, -0.25, 0.125};
  std::array<double, 4> v{3, 0.3, -1, 0.7};
  std::array<double, 2> b{0.5, -1};

  TwoLayers() {
    original_text =
        "g (float[2,3] x) => (float[2,2] y) { h = Gemm<transB=1>(x, w, b) r = Relu(h) y = Gemm<transB=1>(r, v, c) }";
    artifact_text =
        "a (float[2,3] x) => (float[2,2] y) {"
        " xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " wd = DequantizeLinear(wq, ws, wz) bd = DequantizeLinear(bq, bs)"
        " h = Gemm<transB=1>(xd, wd, bd)"
        " r = Relu(h) rq = QuantizeLinear(r, rs, rz) rd = DequantizeLinear(rq, rs, rz)"
        " vd = DequantizeLinear(vq, vs, wz) cd = DequantizeLinear(cq, cs)"
        " y_float = Gemm<transB=1>(rd, vd, cd)"
        " yq = QuantizeLinear(y_float, ys, yz) y = DequantizeLinear(yq, ys, yz) }";
    evidence.converter.policy.equalizes = true;
    evidence.options.per_axis = false;
  }

  /// The numbers of `values`, each times factor(i), on the step that reaches the largest.
  template <std::size_t N, typename Factor>
  double set(const std::string& name, const std::string& scale, const std::array<double, N>& values, core::Shape shape,
             const Factor& factor) {
    double largest = 0;
    for (std::size_t i = 0; i < N; ++i) largest = std::max(largest, std::abs(values[i] * factor(i)));
    const double step = float32(largest / 127);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < N; ++i) numbers.push_back(std::llround(values[i] * factor(i) / step));
    constants[name] = codes(core::DType::int8, std::move(shape), numbers);
    set_scalar(scale, step);
    return step;
  }

  LayerContext layers() {
    weights = {{"w", reals({2, 3}, {w.begin(), w.end()})},
               {"b", reals({2}, {b.begin(), b.end()})},
               {"v", reals({2, 2}, {v.begin(), v.end()})},
               {"c", reals({2}, {0.25, -0.5})}};
    const double xs = float32(4.0 / 255), rs = float32(0.1);
    const double ws = set("wq", "ws", w, {2, 3}, [&](std::size_t i) { return factors[i / 3]; });
    const double vs = set("vq", "vs", v, {2, 2}, [&](std::size_t i) { return 1 / divisors[i % 2]; });
    constants["wz"] = codes(core::DType::int8, {}, {0});
    set_scalar("bs", float32(xs * ws));
    constants["bq"] = codes(core::DType::int32, {2},
                            {std::llround(b[0] * factors[0] / (xs * ws)), std::llround(b[1] * factors[1] / (xs * ws))});
    set_scalar("rs", rs);
    constants["rz"] = codes(core::DType::int8, {}, {-128});
    set_scalar("cs", float32(rs * vs));
    constants["cq"] = codes(core::DType::int32, {2}, {std::llround(0.25 / (rs * vs)), std::llround(-0.5 / (rs * vs))});
    return context();
  }

  /// What the audit of weights and biases says of the original in the artifact's form.
  std::vector<std::string> found() {
    LayerContext plain = layers();
    if (auto form = rescaled(evidence)) {
      evidence.form = std::move(form);
      evidence.model = &evidence.form->model;
    }
    view.emplace(ArtifactView::build(evidence.artifact, *evidence.model).value());
    RangeTable ranges;
    for (const char* name : {"w", "v"}) {
      ranges[name].slack = evidence.uncertainty_of(name) * 8;
    }
    const LayerContext own{evidence, &*view, align(evidence, &*view), {}, &ranges, {}, 1000};
    Judgement out;
    return brief(audit_weights(own, out));
  }
};

TEST(RescaledLayers, AreJudgedLikeAnyOthers) { EXPECT_THAT(TwoLayers().found(), IsEmpty()); }

TEST(RescaledLayers, HaveTheFactorsThatTheFirstLayerShows) {
  TwoLayers two;
  two.layers();
  const auto form = rescaled(two.evidence);
  ASSERT_NE(form, nullptr);
  const auto value = [&](const char* name, std::size_t i) { return form->model.graph.initializer(name)->reals()[i]; };
  for (std::size_t i = 0; i < 6; ++i) {
    const double exact = two.w[i] * two.factors[i / 3];
    EXPECT_NEAR(value("w", i), exact, std::abs(exact) * form->uncertainty.at("w")) << i;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const double exact = two.v[i] / two.factors[i % 2];
    EXPECT_NEAR(value("v", i), exact, std::abs(exact) * form->uncertainty.at("v") * 1.01) << i;
  }
  // The biases say them to a part of two thousand.
  EXPECT_LT(form->uncertainty.at("w"), 1e-3);
  EXPECT_THAT(form->uncertainty, ::testing::Contains(::testing::Key("r")));
}

TEST(RescaledLayers, AreNoneUnlessTheConverterSaysSoAndTheLayerIsMultiplied) {
  TwoLayers unsaid;
  unsaid.layers();
  unsaid.evidence.converter.policy.equalizes = false;
  EXPECT_EQ(rescaled(unsaid.evidence), nullptr);
  TwoLayers plain;
  plain.factors = plain.divisors = {1, 1};
  plain.layers();
  EXPECT_EQ(rescaled(plain.evidence), nullptr);
}

TEST(RescaledLayers, DivideTheNextOneByTheSame) {
  TwoLayers wrong;
  wrong.divisors = {2, 1};
  EXPECT_THAT(wrong.found(), ::testing::Contains("weight v"));
}

TEST(RescaledLayers, ExplainNoOtherWeights) {
  TwoLayers wrong;
  wrong.layers();
  wrong.w[1] = -2;  // of the model; the artifact keeps what it has
  wrong.weights.at("w") = reals({2, 3}, {wrong.w.begin(), wrong.w.end()});
  wrong.context();
  EXPECT_EQ(rescaled(wrong.evidence), nullptr);
}

}  // namespace
}  // namespace assay::judge
