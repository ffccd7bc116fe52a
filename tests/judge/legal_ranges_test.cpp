#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "harness/core/rng.hpp"
#include "harness/judge/alignment/forward_error.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/granted_params.hpp"
#include "reference/executor.hpp"
#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using core::QuantParams;
using testing::float32;
using testing::parse;
using testing::reals;
using testing::Tensor;

/// Legal ranges of a float model over one calibration batch.
struct Ranges {
  model::Model original;
  std::vector<core::TensorMap> batches;
  Evidence evidence;
  ReferenceCache cache;
  std::shared_ptr<const CalibrationRanges> calibration;
  std::optional<LayerContext> context;
  std::optional<LegalRanges> legal;

  Ranges(const std::string& text, const core::TensorMap& batch, const converters::Policy& policy = {},
         const std::map<std::string, Tensor>& weights = {})
      : original(parse(text, weights)), batches{batch} {
    evidence.model = &original;
    evidence.converter.policy = policy;
    calibration = cache.ranges(original, model_key(original, ""), batches, {}).value();
    context.emplace(LayerContext{evidence, nullptr, align(evidence, nullptr), {}, &calibration->ranges, {}, 1});
    legal.emplace(*context, *calibration);
  }
  /// "" where asymmetric int8 parameters made from [low, high] are legal for the tensor.
  std::string check(const std::string& tensor, double low, double high) const {
    const auto fault = legal->check(tensor, derive_params(low, high, DType::int8, false, {}), false);
    return fault ? std::string(facet_name(fault->facet)) : "";
  }
};

TEST(LegalRanges, APoolMayKeepItsInputsScaleButNotTheOtherWayRound) {
  const Ranges ranges(
      "g (float[1,1,1,4] x) => (float[1,1,1,2] y) { y = MaxPool<kernel_shape=[1,2], strides=[1,2]>(x) }",
      {{"x", reals({1, 1, 1, 4}, {-3, 1, 0, 2})}});
  EXPECT_EQ(ranges.check("y", 1, 2), "");
  EXPECT_EQ(ranges.check("y", -3, 2), "") << "the input's";
  EXPECT_EQ(ranges.check("x", 1, 2), "scale") << "narrower than the input itself";
  EXPECT_EQ(ranges.check("y", -4, 2), "scale") << "nobody's";
}

TEST(LegalRanges, ARangeIsSharedWithTensorsThatHaveIt) {
  Ranges ranges("g (float[2] x, float[2] z) => (float[4] y) { y = Concat<axis=0>(x, z) }",
                {{"x", reals({2}, {-1, 1})}, {"z", reals({2}, {-3, 2})}});
  const auto declare = [&](const std::string& tensor, double low, double high) {
    ranges.evidence.conversion.tensors.push_back({tensor, derive_params(low, high, DType::int8, false, {})});
    ranges.legal.emplace(*ranges.context, *ranges.calibration);
  };
  EXPECT_EQ(ranges.check("x", -3, 2), "") << "nothing is known of the others";
  declare("z", -3, 2);
  EXPECT_EQ(ranges.check("x", -3, 2), "") << "the Concat may have it too";
  declare("y", -3, 1);
  EXPECT_EQ(ranges.check("x", -3, 2), "scale") << "the Concat, through which it would be shared, has another one";
  EXPECT_EQ(ranges.check("x", -1, 1), "");
  EXPECT_EQ(ranges.check("y", -3, 2), "") << "covers its branches";
}

// Each of them may have the range of every other: what is found once is not looked for again.
TEST(LegalRanges, LongChainsTakeNoTimeAndNoStack) {
  constexpr int kNodes = 20'000;
  std::string text = "g (float[2] x) => (float[2,1] y) { t0 = Flatten(x) ";
  for (int i = 1; i < kNodes; ++i) text += fmt::format("t{} = {}(t{}) ", i, i % 2 == 0 ? "Relu" : "Flatten", i - 1);
  const Ranges ranges(text + fmt::format("y = Flatten(t{}) }}", kNodes - 1), {{"x", reals({2}, {-1, 1})}});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kNodes; ++i) {
    const std::string tensor = fmt::format("t{}", i);
    EXPECT_EQ(ranges.check(tensor, -3, 3), "scale");
    EXPECT_LE(ranges.legal->of_moved(tensor).size(), 1U);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(LegalRanges, ASumThatAlignsItsOperandsLeavesItsResultAlone) {
  converters::Policy policy;
  policy.shares.emplace();
  const std::string text = "g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }";
  const core::TensorMap batch{{"x", reals({2}, {-1, 1})}, {"z", reals({2}, {-3, 2})}};
  EXPECT_EQ(Ranges(text, batch, policy).check("x", -3, 2), "scale") << "nothing stated";
  policy.aligns = {"Add"};
  const Ranges aligned(text, batch, policy);
  EXPECT_EQ(aligned.check("x", -3, 2), "") << "the wider operand's";
  EXPECT_EQ(aligned.check("x", -1, 1), "");
  EXPECT_EQ(aligned.check("z", -1, 1), "scale") << "the narrower one cuts it off";
  EXPECT_EQ(aligned.check("x", -4, 3), "scale") << "the result's";
}

TEST(LegalRanges, ThePolicyAllowsProductsOfTwoActivationsSymmetricCodes) {
  converters::Policy policy;
  policy.symmetric_products = true;
  const Ranges ranges(
      "g (float[2,2] x) => (float[2,2] y) { a = Relu(x) t = Transpose<perm=[1,0]>(x) y = MatMul(t, a) }",
      {{"x", reals({2, 2}, {-3, 1, 0, 2})}}, policy);
  const auto symmetric = [&](const std::string& tensor, double high) {
    return !ranges.legal->check(tensor, derive_params(-high, high, DType::int8, true, {}), false);
  };
  EXPECT_TRUE(symmetric("a", 2));
  EXPECT_TRUE(symmetric("x", 3)) << "through the Transpose";
  EXPECT_FALSE(symmetric("y", 9)) << "which no product reads";
  EXPECT_EQ(ranges.check("a", 0, 2), "");
  EXPECT_EQ(ranges.check("a", 0, 3), "scale");
}

/// "[0, 2]" for each range that operators in front of which only moves stand may lend to `tensor`.
std::vector<std::string> moved(const Ranges& ranges, const std::string& tensor) {
  std::vector<std::string> texts;
  for (const AllowedRange& range : ranges.legal->of_moved(tensor)) texts.push_back(range_text(range));
  return texts;
}

// max(min(a, c), min(b, c)) = min(max(a, b), c): who gives x the pool's range cuts what the pool's own codes would cut.
TEST(LegalRanges, WhatOnlyMovesMayBeCutBefore) {
  const core::TensorMap batch{{"x", reals({1, 1, 1, 4}, {-3, 1, 0, 2})}};
  const std::string pool = "p = MaxPool<kernel_shape=[1,2], strides=[1,2]>(x) ";
  const Ranges alone("g (float[1,1,1,4] x) => (float[1,2] y) { " + pool + "y = Flatten(p) }", batch);
  EXPECT_THAT(moved(alone, "x"), ::testing::ElementsAre("[0, 2]")) << "the pool's, which is y's too";
  EXPECT_THAT(moved(alone, "y"), ::testing::IsEmpty());
  const Ranges parts("g (float[1,1,1,4] x) => (float[1,1,1,2] a, float[1,1,1,2] b) { a, b = Split<axis=3>(x) }", batch);
  EXPECT_THAT(moved(parts, "x"), ::testing::ElementsAre("[-3, 1]", "[0, 2]"));
  const Ranges both("g (float[1,1,1,4] x) => (float[1,1,1,2] p, float[1,1,1,4] r) { " + pool + "r = Abs(x) }", batch);
  EXPECT_THAT(moved(both, "x"), ::testing::IsEmpty()) << "Abs reads what the pool leaves out";
}

TEST(GrantedParams, AnInputThatOnlyMovesMayEndWhereTheMovedValuesDo) {
  Ranges ranges("g (float[1,1,1,4] x) => (float[1,1,1,2] y) { y = MaxPool<kernel_shape=[1,2], strides=[1,2]>(x) }",
                {{"x", reals({1, 1, 1, 4}, {-3, 1, 0, 2})}});
  ranges.context->audited.emplace("x", derive_params(-3, 2, DType::int8, false, {}));
  const auto span = GrantedParams(*ranges.context).assumed("x");
  ASSERT_TRUE(span);
  EXPECT_NEAR(span->bottom.low, -3, 0.02);
  EXPECT_EQ(span->bottom.high, 0) << "the least value that the pool gave, zero included";
  EXPECT_NEAR(span->least_step, 2.0 / 255, 1e-9);
}

TEST(LegalRanges, AMeanMayKeepItsInputsScale) {
  const Ranges ranges(
      "g (float[1,1,1,4] x) => (float[1,1,1,2] y) { y = AveragePool<kernel_shape=[1,2], strides=[1,2]>(x) }",
      {{"x", reals({1, 1, 1, 4}, {-3, 1, 0, 2})}});
  EXPECT_EQ(ranges.check("y", -1, 1), "");
  EXPECT_EQ(ranges.check("y", -3, 2), "") << "the input's";
  EXPECT_EQ(ranges.check("x", -1, 1), "scale") << "narrower than the input itself";
}

// Silero VAD: an optimizer takes a Cast to the same type out, and its reader finds the codes of what was cast.
TEST(LegalRanges, ACastOfRealsMayKeepItsInputsScale) {
  converters::Policy policy;
  policy.shares = {"Slice"};
  const Ranges ranges("g (float[4] x) => (float[2] y) { s = Slice(x, b, e) c = Cast<to=1>(s) y = Mul(c, c) }",
                      {{"x", reals({4}, {-3, 1, 0, 2})}}, policy,
                      {{"b", testing::codes(DType::int64, {1}, {1})}, {"e", testing::codes(DType::int64, {1}, {3})}});
  EXPECT_EQ(ranges.check("c", 0, 1), "");
  EXPECT_EQ(ranges.check("c", -3, 2), "") << "that of x, through Slice and Cast";
  EXPECT_EQ(ranges.check("c", -4, 2), "scale") << "nobody's";
}

// PP-OCRv5 adds zeros, which ONNX Runtime's optimizer takes out.
TEST(LegalRanges, ASumWithZerosMayKeepItsInputsScale) {
  converters::Policy policy;
  policy.shares = {"Slice"};
  const auto ranges = [&](double added) {
    return Ranges("g (float[4] x) => (float[2] y) { s = Slice(x, b, e) c = Add(s, n) y = Mul(c, c) }",
                  {{"x", reals({4}, {-3, 1, 0, 2})}}, policy,
                  {{"b", testing::codes(DType::int64, {1}, {1})},
                   {"e", testing::codes(DType::int64, {1}, {3})},
                   {"n", reals({2}, {added, added})}});
  };
  EXPECT_EQ(ranges(0).check("c", -3, 2), "") << "that of x";
  EXPECT_EQ(ranges(0.5).check("c", -3, 2), "scale") << "another tensor";
}

TEST(LegalRanges, WhatThePolicyDoesNotShareIsNotShared) {
  converters::Policy policy;
  policy.shares = std::vector<std::string>{"Reshape"};
  const Ranges ranges(
      "g (float[1,1,1,4] x) => (float[1,1,1,2] y) { y = MaxPool<kernel_shape=[1,2], strides=[1,2]>(x) }",
      {{"x", reals({1, 1, 1, 4}, {-3, 1, 0, 2})}}, policy);
  EXPECT_EQ(ranges.check("y", 1, 2), "");
  EXPECT_EQ(ranges.check("y", -3, 2), "scale");
}

TEST(LegalRanges, AReluThatAloneReadsLendsItsRange) {
  const Ranges fused("g (float[4] x) => (float[4] y) { a = Neg(x) y = Relu(a) }", {{"x", reals({4}, {-3, 1, 0, 2})}});
  EXPECT_EQ(fused.check("a", -2, 3), "");
  EXPECT_EQ(fused.check("a", 0, 3), "");
  const Ranges output("g (float[4] x) => (float[4] a, float[4] y) { a = Neg(x) y = Relu(a) }",
                      {{"x", reals({4}, {-3, 1, 0, 2})}});
  EXPECT_EQ(output.check("a", 0, 3), "scale") << "a graph output too: clipping it would show";
}

TEST(LegalRanges, AReluLendsNoRangeThatItsOwnValuesLeave) {
  const Ranges joined("g (float[2] x, float[2] b) => (float[4] y) { a = Neg(x) r = Relu(a) y = Concat<axis=0>(r, b) }",
                      {{"x", reals({2}, {-3, 1})}, {"b", reals({2}, {0, 1})}});
  EXPECT_EQ(joined.check("a", 0, 3), "") << "the Relu's, and the Concat's";
  EXPECT_EQ(joined.check("a", 0, 1), "scale") << "that of the other branch cuts the Relu's values";
}

TEST(LegalRanges, AReluLendsItsRangeThroughAConcat) {
  const Ranges joined("g (float[2] x, float[2] b) => (float[4] y) { a = Neg(x) c = Concat<axis=0>(a, b) y = Relu(c) }",
                      {{"x", reals({2}, {-3, 1})}, {"b", reals({2}, {-8, 2})}});
  EXPECT_EQ(joined.check("a", 0, 3), "") << "it is cut at zero behind the Concat anyway";
  EXPECT_EQ(joined.check("a", 0, 2), "scale") << "that of the other branch cuts what the Relu lets through";
}

TEST(LegalRanges, AReluLendsItsRangeThroughWhatOnlyMoves) {
  const core::TensorMap batch{{"x", reals({4}, {-3, 1, 0, 2})}};
  const Ranges moved("g (float[4] x) => (float[4] y) { a = Neg(x) i = Identity(a) y = Relu(i) }", batch);
  EXPECT_EQ(moved.check("a", 0, 3), "") << "clamping and moving commute";
  const Ranges computed("g (float[4] x) => (float[4] y) { a = Neg(x) i = Abs(a) y = Relu(i) }", batch);
  EXPECT_EQ(computed.check("a", 0, 3), "scale");
}

TEST(LegalRanges, AStatedRangeOfANodeInFloatIsOneOfTwo) {
  converters::Policy policy;
  policy.fixed_ranges["Softmax"] = {0, 1};
  Ranges ranges("g (float[1,2] x) => (float[1,2] y) { y = Softmax(x) }", {{"x", reals({1, 2}, {0, 0})}}, policy);
  EXPECT_EQ(ranges.check("y", 0, 1), "");
  EXPECT_EQ(ranges.check("y", 0, 0.5), "scale") << "calibrated, where it runs on codes";
  ranges.evidence.conversion.precision = {{"y", "Softmax", "fp32"}};
  EXPECT_EQ(ranges.check("y", 0, 1), "") << "stated for its readers";
  EXPECT_EQ(ranges.check("y", 0, 0.5), "") << "calibrated";
  EXPECT_EQ(ranges.check("y", 0, 0.7), "scale");
}

TEST(LegalRanges, AnOperatorWithOwnRangesGivesItsInputsNone) {
  const std::string text = "g (float[2] a, float[2] b) => (float[4] y) { y = Concat<axis=0>(a, b) }";
  const core::TensorMap batch{{"a", reals({2}, {-1, 1})}, {"b", reals({2}, {-4, 3})}};
  EXPECT_EQ(Ranges(text, batch).check("a", -4, 3), "") << "one range for all of them";
  converters::Policy policy;
  policy.own_ranges = {"Concat"};
  const Ranges apart(text, batch, policy);
  EXPECT_EQ(apart.check("a", -4, 3), "scale");
  EXPECT_EQ(apart.check("a", -1, 1), "");
  EXPECT_EQ(apart.check("y", -4, 3), "");
}

TEST(LegalRanges, AConcatCoversEveryBranch) {
  const std::string text = "g (float[2] a, float[2] b) => (float[4] y) { y = Concat<axis=0>(a, b) }";
  const core::TensorMap batch{{"a", reals({2}, {-1, 1})}, {"b", reals({2}, {-5, 8})}};
  const Ranges ranges(text, batch);
  EXPECT_EQ(ranges.check("y", -5, 8), "");
  EXPECT_EQ(ranges.check("y", -1, 1), "scale") << "the first operand's";
  EXPECT_EQ(ranges.check("y", -4, 8), "scale") << "narrower than a branch";
  EXPECT_EQ(ranges.check("a", -5, 8), "") << "a branch may be quantized like the result";
  converters::Policy silent;
  silent.shares = std::vector<std::string>{};
  EXPECT_EQ(Ranges(text, batch, silent).check("a", -5, 8), "scale") << "unless the policy says otherwise";
}

TEST(LegalRanges, ACaseStatesWhatMayShare) {
  const std::string text =
      "g (float[1,1,1,4] a, float[1,1,1,2] b) => (float[1,1,1,4] y) { "
      "p = MaxPool<kernel_shape=[1,2], strides=[1,2]>(a) y = Concat<axis=3>(p, b) }";
  const core::TensorMap batch{{"a", reals({1, 1, 1, 4}, {-1, 0.5, 0.2, 1})}, {"b", reals({1, 1, 1, 2}, {-5, 8})}};
  Ranges ranges(text, batch);
  corpus::Case stated;
  stated.expect.same_scale_as = {{"p", {"a"}}};
  EXPECT_EQ(ranges.check("p", -5, 8), "") << "nothing is stated";
  ranges.evidence.test_case = &stated;
  ranges.legal.emplace(*ranges.context, *ranges.calibration);
  EXPECT_EQ(ranges.check("p", -5, 8), "scale") << "the Concat's";
  EXPECT_EQ(ranges.check("p", -1, 1), "") << "the pool's input's";
  EXPECT_EQ(ranges.check("p", 0, 1), "") << "its own";
  EXPECT_EQ(ranges.check("b", -5, 8), "") << "nothing is stated of it";
  stated.expect.same_scale_as = {{"p", {}}};
  ranges.legal.emplace(*ranges.context, *ranges.calibration);
  EXPECT_EQ(ranges.check("p", -1, 1), "scale");
  EXPECT_EQ(ranges.check("p", 0, 1), "");
}

TEST(LegalRanges, TensorsWithoutRangeAreNotJudged) {
  const Ranges ranges("g (float[2] x) => (float[2] y) { y = Relu(x) }", {{"x", reals({2}, {-1, 1})}});
  EXPECT_EQ(ranges.check("unknown", -1, 1), "");
}

TEST(LegalRanges, GivenParametersFitWhereverTheyAreShared) {
  const Ranges ranges(
      "g (float[2] x) => (float[2] y) { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Relu(d) }",
      {{"x", reals({2}, {-1, 1})}}, {},
      {{"s", Tensor::scalar(DType::float32, 0.5)}, {"z", testing::codes(DType::int8, {}, {3})}});
  EXPECT_EQ(ranges.legal->check("x", {{0.5}, {3}, DType::int8, {}}, false), std::nullopt);
  EXPECT_NE(ranges.legal->check("x", {{0.5}, {4}, DType::int8, {}}, false), std::nullopt);
}

/// A float32 execution's extremes must lie within the slack of the float64 reference's, or correct converters are
/// accused: chains of MatMul, Add and Relu, summed in float32 in the worst of three orders.
TEST(ForwardError, CoversFloat32ExecutionOfRandomChains) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    core::Rng rng(seed, "chain");
    const std::int64_t n = rng.integer(2, 40);
    const auto count = static_cast<std::size_t>(n * n);
    const auto draw = [&](std::size_t size) {
      std::vector<double> values(size);
      for (double& value : values) value = float32(rng.normal());
      return values;
    };
    const std::string size = std::to_string(n);
    const std::string square = "float[" + size + "," + size + "] ";
    const std::map<std::string, Tensor> weights{{"w", reals({n, n}, draw(count))},
                                                {"v", reals({n, n}, draw(count))},
                                                {"b", reals({n}, draw(static_cast<std::size_t>(n)))}};
    const Tensor x = reals({n, n}, draw(count));
    const Ranges ranges(
        "g (" + square + "x) => (" + square + "y) { m = MatMul(x, w) a = Add(m, b) r = Relu(a) y = MatMul(r, v) }",
        {{"x", x}}, {}, weights);
    const auto multiply = [&](const std::vector<float>& left, const std::vector<double>& right, bool backwards) {
      std::vector<float> out(count);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (std::int64_t step = 0; step < n; ++step) {
            const std::int64_t k = backwards ? n - 1 - step : step;
            sum += left[static_cast<std::size_t>(i * n + k)] *
                   static_cast<float>(right[static_cast<std::size_t>(k * n + j)]);
          }
          out[static_cast<std::size_t>(i * n + j)] = sum;
        }
      }
      return out;
    };
    for (const bool backwards : {false, true}) {
      std::vector<float> values(x.reals().begin(), x.reals().end());
      values = multiply(values, weights.at("w").to_reals(), backwards);
      for (std::size_t i = 0; i < count; ++i) {
        const float sum = values[i] + static_cast<float>(weights.at("b").as_real(static_cast<std::int64_t>(i) % n));
        values[i] = std::max(sum, 0.0F);
      }
      values = multiply(values, weights.at("v").to_reals(), backwards);
      const auto [low, high] = std::ranges::minmax_element(values);
      const TensorRange& range = ranges.calibration->ranges.at("y");
      EXPECT_LE(std::abs(static_cast<double>(*low) - range.low), range.slack) << "seed " << seed;
      EXPECT_LE(std::abs(static_cast<double>(*high) - range.high), range.slack) << "seed " << seed;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 120);
}

TEST(ForwardError, AVectorIsSummedOver) {
  constexpr std::int64_t kTerms = 195;
  core::Rng rng(5);
  std::vector<double> x(kTerms), w(kTerms);
  double products = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = float32(rng.normal());
    w[i] = float32(rng.normal());
    products += std::abs(x[i] * w[i]);
  }
  const Ranges ranges("g (float[1,195] x) => (float[1] y) { y = MatMul(x, w) }", {{"x", reals({1, kTerms}, x)}}, {},
                      {{"w", reals({kTerms}, w)}});
  EXPECT_GE(ranges.calibration->ranges.at("y").slack, rounding_gamma(kTerms) * products);
  const Ranges turned("g (float[195,1] x, float[1,195] z) => (float[1,1] y) { y = Gemm<transA=1, transB=1>(x, z) }",
                      {{"x", reals({kTerms, 1}, x)}, {"z", reals({1, kTerms}, w)}}, {}, {});
  EXPECT_GE(turned.calibration->ranges.at("y").slack, rounding_gamma(kTerms) * products);
}

TEST(ForwardError, AnExponentialLessOneOfNearlyNothingHasTheErrorOfTheOne) {
  const float x = -1.5564467e-5F, alpha = 2;
  const auto less_one = [&](float divisor) { return static_cast<double>(alpha * (std::exp(x / divisor) - 1)); };
  const std::map<std::string, double> naive{{"Celu<alpha=2.0>", less_one(alpha)},
                                            {"Elu<alpha=2.0>", less_one(1)},
                                            {"Selu<alpha=2.0, gamma=1.0>", less_one(1)}};
  for (const auto& [op, value] : naive) {
    const Ranges ranges("g (float[1] x) => (float[1] y) { y = " + op + "(x) }", {{"x", reals({1}, {x})}}, {}, {});
    const TensorRange& range = ranges.calibration->ranges.at("y");
    EXPECT_LE(std::abs(value - range.low), range.slack) << op;
    EXPECT_GT(std::abs(value - range.low), std::abs(range.low) * 0x1p-20) << op << " shows nothing";
  }
}

}  // namespace
}  // namespace assay::judge
