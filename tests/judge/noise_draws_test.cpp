#include "harness/judge/quantization/noise_draws.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kExponent = 34;  // as in a run of some thousand verdicts

NoiseDraws draws_of(const std::vector<std::vector<double>>& errors) {
  NoiseDraws draws;
  for (const std::vector<double>& error : errors) {
    const auto count = static_cast<std::int64_t>(error.size());
    draws.add(reals({count}, std::vector<double>(error.size(), 0)), reals({count}, error));
  }
  return draws;
}

TEST(NoiseDraws, LimitOfDrawsThatDoNotDifferIsTheirPower) {
  EXPECT_DOUBLE_EQ(draws_of({{3, 4}, {5, 0}, {4, 3}}).limit(kExponent), 25);
}

TEST(NoiseDraws, LimitGrowsWithWhatTheDrawsDiffer) {
  const double narrow = draws_of({{10}, {10.1}, {9.9}}).limit(kExponent);
  const double wide = draws_of({{10}, {14}, {6}}).limit(kExponent);
  EXPECT_GT(narrow, 100);
  EXPECT_GT(wide, 2 * narrow);
}

TEST(NoiseDraws, SumsOfManyRoundingsStayBelowTheLimit) {
  core::Rng rng(3);
  const auto draw = [&] {
    std::vector<double> errors(200);
    for (double& error : errors) error = rng.uniform(-0.5, 0.5);
    return errors;
  };
  const double limit = draws_of({draw(), draw(), draw(), draw(), draw(), draw(), draw(), draw()}).limit(kExponent);
  for (int i = 0; i < 10000; ++i) {
    const std::vector<double> errors = draw();
    EXPECT_LT(std::inner_product(errors.begin(), errors.end(), errors.begin(), 0.0), limit);
  }
  EXPECT_LT(limit, 4 * 200 / 12.0) << "a limit of twice the amplitude would say little";
}

TEST(NoiseDraws, OfIntegersCountTheElementsThatDiffer) {
  const Tensor want = codes(DType::int64, {4}, {1, 2, 3, 3});
  EXPECT_EQ(noise_power(want, codes(DType::int64, {4}, {1, 2, 5, 6})), 2);
  EXPECT_EQ(signal_power(want), 2) << "all but the commonest value";
  NoiseDraws draws;
  for (int i = 0; i < 8; ++i) draws.add(want, want);
  EXPECT_GT(draws.limit(kExponent), 0) << "that no draw differs doesn't prove that none can";
}

TEST(NoiseDraws, NothingThatIsNotANumberIsWithinALimit) {
  EXPECT_FALSE(noise_power(reals({1}, {1}), reals({1}, {std::nan("")})) <= 1e300);
  EXPECT_EQ(noise_power(reals({1}, {std::nan("")}), reals({1}, {std::nan("")})), 0);
}

// The mean of 2,184 elements, 0.005, is known to 3 % behind the quantized x, and may be 0 for all that intervals know.
const std::string kThroughAMean =
    "g (float[7,13,24] x) => (float[7,13,24] y) { u = ReduceMean<axes=[0,1,2]>(x) y = Div(x, u) }";

/// All scales are reported, nothing of how the engine computes; `engine` makes the outputs out of the right ones.
Judged reported(const std::string& text, const std::function<void(std::span<double>)>& engine) {
  const model::Model original = parse(text, {});
  const core::Shape shape{7, 13, 24};
  core::Rng rng(29);
  std::vector<double> values(std::size_t{7} * 13 * 24);
  for (double& value : values) value = float32(rng.uniform(-3, 3));
  const double excess = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()) - 0.005;
  for (double& value : values) value = float32(value - excess);
  const core::TensorMap inputs{{"x", reals(shape, values)}};
  core::TensorMap outputs = reference::execute(original, inputs).value();
  engine(outputs.at("y").reals());
  Judged judged(original, original);
  judged.opaque = true;
  judged.evidence.options.symmetric = true;
  judged.evidence.options.method = converters::Method::entropy;
  judged.add("typical", inputs, std::move(outputs));
  judged.calibrate();
  for (const auto& [name, params] : judged.audited) judged.evidence.conversion.tensors.push_back({name, params});
  return judged;
}

void as_they_are(std::span<double> /*y*/) {}
void of_other_elements(std::span<double> y) { std::ranges::reverse(y); }

TEST(PredictionByDraws, FindsWrongOutputsWhereNoBoundReaches) {
  Judged judged = reported(kThroughAMean, of_other_elements);
  EXPECT_THAT(judged.bounds(), IsEmpty());
  const std::vector<Finding> findings = judged.prediction();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].facet, Facet::numerics);
  EXPECT_EQ(findings[0].tensor, "y");
  EXPECT_GT(findings[0].margin, 1);
  EXPECT_THAT(findings[0].message, HasSubstr("the noise is more than quantization makes"));
}

TEST(PredictionByDraws, ReachesTheOutputThatItGates) {
  Judged judged = reported(kThroughAMean, as_they_are);
  EXPECT_THAT(judged.prediction(), IsEmpty());
  EXPECT_EQ(judged.judgement.coverage.outputs.at("y"), 1);
}

TEST(PredictionByDraws, SaysWhyItCannotGateWhereRangesAreNotKnown) {
  Judged judged = reported(kThroughAMean, of_other_elements);
  judged.evidence.conversion.tensors.clear();
  EXPECT_THAT(judged.prediction(), IsEmpty());
  EXPECT_EQ(judged.judgement.coverage.outputs.count("y"), 0U);
  EXPECT_THAT(judged.judgement.coverage.reasons.at("y"), HasSubstr("method entropy"));
}

// CenterNet keeps a heat map's maxima that way: one step between the two of Equal, and nothing is left.
TEST(PredictionByDraws, DoesNotReachWhatRoundingAloneMayDestroy) {
  Judged judged = reported(
      "g (float[7,13,24] x) => (float[7,13,24] y) { r = Relu(x) m = MaxPool<kernel_shape=[3], pads=[1,1]>(r)"
      " e = Equal(m, r) f = Cast<to=1>(e) y = Mul(r, f) }",
      [](std::span<double> y) { std::ranges::fill(y, 0); });
  EXPECT_THAT(judged.prediction(), IsEmpty());
  EXPECT_EQ(judged.judgement.coverage.outputs.count("y"), 0U);
  EXPECT_THAT(judged.judgement.coverage.reasons.at("y"), HasSubstr("rounding alone"));
}

/// y = x·w + b between quantizers of both sides, `extra` behind the product inside the artifact.
struct Product {
  model::Model original, artifact;
  core::TensorMap inputs;
  explicit Product(const std::string& extra = "Identity(p)") : original{}, artifact{} {
    core::Rng rng(5);
    std::vector<double> weights, x;
    std::vector<std::int64_t> weight_codes;
    for (int i = 0; i < 16 * 12; ++i) {
      weights.push_back(float32(rng.normal()));
      weight_codes.push_back(static_cast<std::int64_t>(std::nearbyint(weights.back() / 0.05)));
    }
    for (int i = 0; i < 100 * 16; ++i) x.push_back(float32(rng.uniform(-3, 3)));
    inputs = {{"x", reals({100, 16}, x)}};
    original = parse("g (float[100,16] x) => (float[100,12] y) { p = MatMul(x, w) y = Identity(p) }",
                     {{"w", reals({16, 12}, weights)}});
    artifact = parse(
        "g (float[100,16] x) => (float[100,12] y) { xq = QuantizeLinear(x, xs, xz)"
        " xd = DequantizeLinear(xq, xs, xz) wd = DequantizeLinear(wq, ws, xz) p = MatMul(xd, wd) e = " +
            extra + " yq = QuantizeLinear(e, ys, xz) y = DequantizeLinear(yq, ys, xz) }",
        {{"xs", Tensor::scalar(DType::float32, 3 / 127.0)},
         {"ws", Tensor::scalar(DType::float32, 0.05)},
         {"ys", Tensor::scalar(DType::float32, 0.2)},
         {"xz", codes(DType::int8, {}, {0})},
         {"minus", Tensor::scalar(DType::float32, -1)},
         {"more", Tensor::scalar(DType::float32, 1.25)},
         {"most", Tensor::scalar(DType::float32, 100)},
         {"wq", codes(DType::int8, {16, 12}, weight_codes)}});
  }
  [[nodiscard]] bool explained(const OriginalValues& originals = {}) const {
    const auto noise = draw_from_artifact(artifact, inputs, original.graph.outputs, originals, {}).value();
    const Tensor want = reference::execute(original, inputs).value().at("y");
    const Tensor got = reference::execute(artifact, inputs).value().at("y");
    return noise_power(want, got) <= noise.at("y").limit(kExponent);
  }
};

TEST(DrawFromArtifact, ExplainsTheNoiseOfACorrectArtifact) { EXPECT_TRUE(Product().explained()); }

TEST(DrawFromArtifact, DoesNotExplainAnotherNetwork) {
  EXPECT_FALSE(Product("Mul(p, minus)").explained());
  EXPECT_FALSE(Product("Mul(p, more)").explained());
  EXPECT_FALSE(Product("Relu(p)").explained());
}

TEST(DrawFromArtifact, WhatADefectSendsBeyondTheRangeDoesNotWidenItsLimit) {
  const Product wrong("Mul(p, most)");  // nearly everything is cut off
  EXPECT_TRUE(wrong.explained()) << "as a range may be too narrow where nobody knows what the original has";
  const Tensor want = reference::execute(wrong.original, wrong.inputs).value().at("y");
  const auto [low, high] = std::ranges::minmax(want.reals());
  EXPECT_LT(high, 0.2 * 127);
  EXPECT_FALSE(wrong.explained({{"yq", {low, high}}}));
  EXPECT_TRUE(Product().explained({{"yq", {low, high}}}));
}

TEST(DrawFromArtifact, WhatTheOriginalHasBeyondTheRangeCountsAsCutOff) {
  Product product;
  product.artifact.graph.initializers["ys"] = std::make_shared<const Tensor>(Tensor::scalar(DType::float32, 0.05));
  const Tensor want = reference::execute(product.original, product.inputs).value().at("y");
  const auto [low, high] = std::ranges::minmax(want.reals());
  EXPECT_GT(high, 0.05 * 127);
  EXPECT_TRUE(product.explained({{"yq", {low, high}}}));
  EXPECT_FALSE(product.explained({{"yq", {-0.05 * 128, 0.05 * 127}}}));
}

// A silent spectrum's logarithm: minus infinity has no last place that an engine could be off by, and the least code.
TEST(DrawFromArtifact, FollowsAnInfinityIntoItsCode) {
  const model::Model artifact = parse(
      "g (float[4] x) => (float[4] y) { xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz) l = Log(xd)"
      " lq = QuantizeLinear(l, ls, lz) y = DequantizeLinear(lq, ls, lz) }",
      {{"xs", Tensor::scalar(DType::float32, 0.01)},
       {"xz", codes(DType::int8, {}, {-128})},
       {"ls", Tensor::scalar(DType::float32, 0.05)},
       {"lz", codes(DType::int8, {}, {100})}});
  const core::TensorMap inputs{{"x", reals({4}, {0, 0.5, 1, 2})}};
  const auto noise = draw_from_artifact(artifact, inputs, artifact.graph.outputs, {{"lq", {-11.4, 0.7}}}, {});
  ASSERT_TRUE(noise) << noise.error().message;
  EXPECT_LT(noise->at("y").limit(kExponent), 1);
}

TEST(DrawFromArtifact, LooksIntoSubgraphs) {
  Product product;
  model::Model branching = parse(
      "g (float[100,16] x) => (float[100,12] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " y = If(c) <then_branch = t () => (float[100,16] a) { aq = QuantizeLinear(xd, s, z)"
      " a = DequantizeLinear(aq, s, z) }, else_branch = f () => (float[100,16] a) { a = Identity(xd) }> }",
      {{"s", Tensor::scalar(DType::float32, 0.5)},
       {"z", codes(DType::int8, {}, {0})},
       {"c", codes(DType::boolean, {}, {1})}});
  const auto noise = draw_from_artifact(branching, product.inputs, branching.graph.outputs, {}, {});
  ASSERT_TRUE(noise.ok()) << noise.error().message;
  EXPECT_GT(noise->at("y").mean(), 0) << "both quantizers are bypassed in the draws";
}

}  // namespace
}  // namespace assay::judge::testing
