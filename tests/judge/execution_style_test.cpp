#include "harness/judge/enclosures/execution_style.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

/// Codes that y = x·w may have under `style`, its operands and result quantized.
Enclosure product_codes(const model::Node& node, const Style& style, const Tensor& x, const Tensor& w,
                        const core::QuantParams& x_params, const core::QuantParams& w_params,
                        const core::QuantParams& y_params) {
  const Enclosure data = *dequantize_enclosure(exact_enclosure(std::make_shared<const Tensor>(x)), x_params, style);
  const Enclosure weight = *dequantize_enclosure(exact_enclosure(std::make_shared<const Tensor>(w)), w_params, style);
  const std::vector<const Enclosure*> inputs{&data, &weight};
  const auto sum = enclose_node(node, 13, inputs, style.arithmetic);
  return *quantize_enclosure(sum->front(), y_params, style, false);
}

void expect_hull_of(const std::span<const Style> styles, int& uncertain) {
  const std::optional<Style> hull = style_hull(styles);
  ASSERT_TRUE(hull);
  const model::Model model = parse("g (float[M,K] x, float[K,N] w) => (float[M,N] y) { y = MatMul(x, w) }", {});
  core::Rng rng(11);
  for (int round = 0; round < 60; ++round) {
    const auto draw = [&](const Shape& shape) {
      std::vector<std::int64_t> values(static_cast<std::size_t>(core::element_count(shape)));
      for (std::int64_t& value : values) value = rng.integer(-127, 127);
      return codes(DType::int8, shape, std::move(values));
    };
    const Tensor x = draw({8, 5}), w = draw({5, 8});
    // Output scales that are a power of two times the product's: sums of products meet ties.
    const double s_x = float32(rng.uniform(0.01, 1)), s_w = float32(rng.uniform(0.01, 1));
    const double s_y = round % 2 == 0 ? float32(s_x * s_w) * std::exp2(9) : float32(rng.uniform(100, 500) * s_x * s_w);
    const core::QuantParams x_params{{s_x}, {0}, DType::int8, {}}, w_params{{s_w}, {0}, DType::int8, {}},
        y_params{{s_y}, {rng.integer(-3, 3)}, DType::int8, {}};
    const auto under = [&](const Style& style) {
      return product_codes(model.graph.nodes[0], style, x, w, x_params, w_params, y_params);
    };
    const Enclosure widest = under(*hull);
    for (const Style& style : styles) {
      const Enclosure narrow = under(style);
      for (std::int64_t i = 0; i < narrow.centre->size(); ++i) {
        ASSERT_GE(narrow.low_or_centre().integers()[static_cast<std::size_t>(i)],
                  widest.low_or_centre().integers()[static_cast<std::size_t>(i)])
            << core::word_of(style.name);
        ASSERT_LE(narrow.high_or_centre().integers()[static_cast<std::size_t>(i)],
                  widest.high_or_centre().integers()[static_cast<std::size_t>(i)])
            << core::word_of(style.name);
        uncertain += narrow.low_or_centre().integers()[static_cast<std::size_t>(i)] <
                             narrow.high_or_centre().integers()[static_cast<std::size_t>(i)]
                         ? 1
                         : 0;
      }
    }
  }
}

TEST(StyleHull, AdmitsWhatAnyOfItsStylesDoes) {
  converters::Policy policy;
  policy.arithmetic = converters::EngineArithmetic::integer;
  int uncertain = 0;
  expect_hull_of(styles_for(policy), uncertain);
  EXPECT_GT(uncertain, 0) << "a test without ties would show nothing";
}

TEST(StyleHull, OfExactStylesAllowsNothingButTies) {
  converters::Policy policy;
  policy.arithmetic = converters::EngineArithmetic::integer;
  const std::span<const Style> all = styles_for(policy);
  const auto exact = all.first(static_cast<std::size_t>(
      std::ranges::find_if(all, [](const Style& style) { return style.arithmetic.float_unit > 0; }) - all.begin()));
  ASSERT_GT(exact.size(), 2U);
  int uncertain = 0;
  expect_hull_of(exact, uncertain);
  const std::optional<Style> hull = style_hull(exact);
  ASSERT_TRUE(hull);
  EXPECT_EQ(hull->arithmetic.float_unit, 0);
  EXPECT_EQ(hull->arithmetic.multiplier_error, 0);
  EXPECT_EQ(hull->dequantize_error, 0);
  EXPECT_EQ(hull->divide_error, 0);
}

TEST(StyleHull, ThereIsNoneOfUnlikeSums) {
  converters::Policy policy;
  policy.arithmetic = converters::EngineArithmetic::unknown;
  EXPECT_FALSE(style_hull(styles_for(policy)));
}

}  // namespace
}  // namespace assay::judge::testing
