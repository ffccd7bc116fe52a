#include "harness/judge/facets/asked_precision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/rng.hpp"
#include "harness/judge/quantization/fake_quantization.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kRows = 160, kColumns = 12;

Tensor random(core::Rng& rng, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (double& value : values) value = float32(rng.uniform(-1, 1));
  return reals(shape, std::move(values));
}

/// y = h·v, h = x·w, with what the engine did with either product.
class TwoProducts {
 public:
  explicit TwoProducts(std::uint64_t seed) {
    core::Rng rng(seed);
    const Tensor w = random(rng, {kColumns, kColumns}), v = random(rng, {kColumns, kColumns});
    const std::string text = "(float[160,12] x) => (float[160,12] y) { h = MatMul(x, w) y = MatMul(h, v) }";
    judged_.emplace(parse("g " + text, {{"w", w}, {"v", v}}), parse("a " + text, {{"w", w}, {"v", v}}));
    judged_->opaque = true;
    state_policy(judged_->evidence.converter.policy);
    const core::TensorMap inputs{{"x", random(rng, {kRows, kColumns})}};
    judged_->add("typical", inputs, reference::execute(judged_->original, inputs).value());
    judged_->calibrate();
  }

  void ask_for_float(const std::string& node) { judged_->evidence.options.precision = {{node, "fp32"}}; }

  /// Whether each product runs in float, and which values stay real although nobody asked for that.
  std::vector<Finding> check(bool h_in_float, bool y_in_float, std::set<std::string, std::less<>> stay_real = {}) {
    const LayerContext context = judged_->context();
    Grounds grounds(context);
    FakeQuantization engine(context, grounds.plan(), {{{0, h_in_float}, {1, y_in_float}}, std::move(stay_real)});
    Execution& execution = judged_->evidence.executions.front();
    EXPECT_TRUE(engine.run(execution.inputs));
    execution.outputs.insert_or_assign("y", *engine.value("y"));
    PrecisionFindings found;
    if (outputs_tell_precision(context)) check_asked_precision(context, grounds, found);
    ran_in_float = found.ran_in_float;
    return std::move(found.findings);
  }
  bool ran_in_float = false;

 private:
  std::optional<Judged> judged_;
};

TEST(AskedPrecision, WhatIsDoneAsAskedLeavesNoTrace) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TwoProducts first(seed);
    first.ask_for_float("h");
    EXPECT_THAT(first.check(true, false), IsEmpty()) << seed;
    EXPECT_THAT(first.check(true, false, {"x"}), IsEmpty()) << seed << ": only a product in float reads x";
    EXPECT_THAT(first.check(true, false, {"x", "y"}), IsEmpty()) << seed;
    TwoProducts last(seed);
    last.ask_for_float("y");
    EXPECT_THAT(last.check(false, true), IsEmpty()) << seed;
    EXPECT_THAT(last.check(false, true, {"h"}), IsEmpty()) << seed;
  }
}

TEST(AskedPrecision, AWishForFloatThatIsIgnoredShows) {
  TwoProducts products(3);
  products.ask_for_float("h");
  const auto findings = products.check(false, false);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].node, "h");
  EXPECT_EQ(findings[0].facet, Facet::precision);
  EXPECT_FALSE(products.ran_in_float);
  EXPECT_THAT(findings[0].message, HasSubstr("expected a float type, but the outputs hold the noise"));
}

TEST(AskedPrecision, FloatThatSpreadsToTheNextNodeShows) {
  TwoProducts products(4);
  products.ask_for_float("h");
  const auto findings = products.check(true, true, {"x"});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].node, "y");
  EXPECT_TRUE(products.ran_in_float) << "not-quantized";
  EXPECT_THAT(findings[0].message, HasSubstr("expected int8, but the outputs lack the noise"));
}

TEST(AskedPrecision, NothingIsAskedWhereNobodyWantsFloat) {
  TwoProducts products(5);
  EXPECT_THAT(products.check(true, true), IsEmpty()) << "the noise of the whole decides that";
}

}  // namespace
}  // namespace assay::judge::testing
