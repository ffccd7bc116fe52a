#include "harness/judge/audit/granted_params.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "harness/judge/evidence/derived_params.hpp"

namespace assay::judge {
namespace {

/// int8 codes of step 0.5 around 10: values from (-128 - 10)/2 = -69 to (127 - 10)/2 = 58.5.
CodeSpan half_steps() { return CodeSpan::of({{0.5}, {10}, core::DType::int8, std::nullopt}, {}); }

TEST(CodeSpan, RunsFromTheLowestCodeToTheHighest) {
  EXPECT_EQ(half_steps().bottom.high, -69);
  EXPECT_EQ(half_steps().top.low, 58.5);
}

TEST(CodeSpan, RoundsByHalfAStepAndKeepsZero) {
  const Interval ends = half_steps().quantized({1, 2});
  EXPECT_EQ(ends.low, 0.75);
  EXPECT_EQ(ends.high, 2.25);
  EXPECT_EQ(half_steps().quantized({0, 0}).high, 0);
}

TEST(CodeSpan, OfFloat8RoundsByHalfTheDistanceAtTheValue) {
  const CodeSpan span = CodeSpan::of({{0.5}, {0}, core::DType::float8e4m3fn, std::nullopt}, {});
  EXPECT_EQ(span.top.high, 224);
  EXPECT_EQ(span.half(0), 0x1p-11);
  EXPECT_EQ(span.half(1), 0.0625);  // 2 steps: codes of 2 to 4 lie 0.25 apart
  EXPECT_EQ(span.half(-200), 8);
  const Interval ends = span.quantized({1, 100});
  EXPECT_EQ(ends.low, 0.9375);
  EXPECT_EQ(ends.high, 104);
  // Of any legal scale: as far apart as that of the one which begins a power of two right at the value.
  const CodeSpan either = span.joined(CodeSpan::of({{0.4}, {0}, core::DType::float8e4m3fn, std::nullopt}, {}));
  EXPECT_EQ(either.half(96), 6);
  EXPECT_EQ(either.least_half(96), 3);
}

TEST(DeclaredValues, LieAsTheOriginalReadsThemWithTheFactorThatIsLeft) {
  Operand weight;
  weight.constant_codes = std::make_shared<const core::Tensor>(core::DType::int8, core::Shape{2, 3},
                                                               std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  weight.params = core::QuantParams{{0.5}, {0}, core::DType::int8, std::nullopt};
  model::Node made, node;
  made.op_type = node.op_type = "Gemm";
  node.attributes["transB"] = std::int64_t{1};
  made.attributes["alpha"] = -2.0;
  const core::TensorPtr turned = declared_values(weight, made, node, 1);
  ASSERT_NE(turned, nullptr);
  EXPECT_EQ(turned->shape(), (core::Shape{3, 2}));
  EXPECT_EQ(turned->to_reals(), (std::vector<double>{-1, -4, -2, -5, -3, -6}));
  made.attributes["transB"] = std::int64_t{1};
  EXPECT_EQ(declared_values(weight, made, node, 1)->to_reals(), (std::vector<double>{-1, -2, -3, -4, -5, -6}));
  weight.constant_codes = nullptr;
  EXPECT_EQ(declared_values(weight, made, node, 1), nullptr);
}

TEST(CodeSpan, CutsOnItsOwnSideOnly) {
  // 100 becomes 58.5: lower, and by no means higher; 2^-22 of it either way is the float32 product's.
  const Interval ends = half_steps().quantized({100, 100});
  EXPECT_EQ(ends.low, 58.5 * (1 - 0x1p-22));
  EXPECT_NEAR(ends.high, 58.5, 58.5 * 0x1p-21);
}

TEST(CodeSpan, OfUnknownParametersGrantsTheCoarsestStepAndTheNearestEnd) {
  const CodeSpan coarse = CodeSpan::of({{1}, {0}, core::DType::int8, std::nullopt}, {});
  const CodeSpan either = coarse.joined(CodeSpan::of({{0.25}, {0}, core::DType::int8, std::nullopt}, {}));
  EXPECT_EQ(either.step, 1);
  EXPECT_EQ(either.least_step, 0.25);
  const Interval ends = either.quantized({50, 50});
  EXPECT_EQ(ends.low, 31.75 * (1 - 0x1p-22)) << "127 steps of 0.25";
  EXPECT_EQ(ends.high, 50.5) << "half a step of 1";
}

TEST(CodeSpan, AnAffineLevelIsRoundedOverTheWholeRange) {
  converters::Policy affine;
  affine.dequantize = converters::DequantizeForm::affine;
  const CodeSpan span = CodeSpan::of({{0.5}, {10}, core::DType::int8, std::nullopt}, affine);
  const double error = 4 * 0x1p-24 * (58.5 + 69);
  EXPECT_EQ(span.quantized({0, 0}).low, -error);
  EXPECT_EQ(span.quantized({1, 2}).high, 2.25 + error);
}

TEST(CodeSpan, ANarrowRangeLeavesTheLeastCodeUnused) {
  converters::Policy narrow;
  narrow.narrow_range = true;
  const CodeSpan span = CodeSpan::of({{0.5}, {0}, core::DType::int8, std::nullopt}, narrow);
  EXPECT_EQ(span.bottom.low, -63.5);
  EXPECT_EQ(span.top.high, 63.5);
  EXPECT_EQ(CodeSpan::of({{0.5}, {0}, core::DType::uint8, std::nullopt}, narrow).bottom.low, 0);
}

TEST(DeclaredOf, TurnsTheBlocksOfAMatrixThatOneOfTheTwoReadsTransposed) {
  // A MatMul's weight [5,3] in blocks of 2 along axis 0: 3 blocks of 3 columns. The Gemm's own is [3,5].
  model::Node product, gemm;
  product.op_type = "MatMul";
  gemm.op_type = "Gemm";
  gemm.attributes["transB"] = std::int64_t{1};
  core::QuantParams params{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, core::DType::uint4, 0, 2};
  const core::QuantParams turned = declared_of(params, product, gemm, 1, {3, 5});
  EXPECT_EQ(turned.axis, 1);
  EXPECT_EQ(turned.scale, (std::vector<double>{1, 4, 7, 2, 5, 8, 3, 6, 9}));
  EXPECT_EQ(turned.zero_point, (std::vector<std::int64_t>{1, 4, 7, 2, 5, 8, 3, 6, 9}));
  EXPECT_EQ(declared_of(params, gemm, gemm, 1, {3, 5}), params);
  params.block = 0;
  params.scale = {1, 2, 3};
  params.axis = 1;
  EXPECT_EQ(declared_of(params, product, gemm, 1, {3, 5}).axis, 0);
  EXPECT_EQ(declared_of(params, product, gemm, 1, {3, 5}).scale, params.scale);
}

TEST(SymmetricSteps, OtherTypesHaveAsManyMoreOrLessThanHalf) {
  using core::DType;
  converters::Policy policy;
  EXPECT_EQ(symmetric_steps(DType::int8, policy), 127);
  EXPECT_EQ(symmetric_steps(DType::uint4, policy), 7);
  EXPECT_EQ(symmetric_steps(DType::int16, policy), 32767);
  policy.divisor = 64;  // reduce_range
  EXPECT_EQ(symmetric_steps(DType::int8, policy), 64);
  EXPECT_EQ(symmetric_steps(DType::int4, policy), 7) << "no scale is right for any range";
  policy.divisor = 128;
  EXPECT_EQ(symmetric_steps(DType::int4, policy), 8);
  policy.divisor = 127.5;
  EXPECT_EQ(symmetric_steps(DType::int4, policy), 7.5);
}

}  // namespace
}  // namespace assay::judge
