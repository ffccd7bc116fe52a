// Normalizations in float32, by each of the forms that executors have, lie within their enclosure.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/judge/enclosures/enclosure.hpp"

namespace assay::judge {
namespace {

using core::DType;
using core::Tensor;

constexpr std::size_t kWidth = 6;
constexpr float kEpsilon = 1e-5F;

model::Node layer_normalization() {
  model::Node node;
  node.name = "n";
  node.op_type = "LayerNormalization";
  node.inputs = {"x", "s", "b"};
  node.outputs = {"y", "mean", "inv"};
  return node;
}

core::Result<std::vector<Enclosure>> enclose(const std::vector<double>& x, const std::vector<double>& scale,
                                             const std::vector<double>& bias, double unit) {
  const auto tensor = [](core::Shape shape, std::vector<double> values) {
    return exact_enclosure(std::make_shared<const Tensor>(DType::float32, std::move(shape), std::move(values)));
  };
  const std::vector<Enclosure> inputs{tensor({1, kWidth}, x), tensor({kWidth}, scale), tensor({kWidth}, bias)};
  const std::vector<const Enclosure*> operands{&inputs[0], &inputs[1], &inputs[2]};
  return enclose_node(layer_normalization(), 17, operands, {.float_unit = unit});
}

enum class Form { two_pass, mean_of_squares, scale_and_shift };

/// Every operation rounded to float32.
std::vector<float> in_float32(const std::vector<double>& x, const std::vector<double>& scale,
                              const std::vector<double>& bias, Form form) {
  float sum = 0, squares = 0, variance = 0;
  for (const double value : x) {
    sum += static_cast<float>(value);
    squares += static_cast<float>(value) * static_cast<float>(value);
  }
  const float count = kWidth;
  const float mean = sum / count;
  for (const double value : x) variance += (static_cast<float>(value) - mean) * (static_cast<float>(value) - mean);
  variance = form == Form::mean_of_squares ? squares / count - mean * mean : variance / count;
  const float inv = 1.0F / std::sqrt(variance + kEpsilon);
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<float>(x[i]), s = static_cast<float>(scale[i]), b = static_cast<float>(bias[i]);
    y.push_back(form == Form::scale_and_shift ? value * (s * inv) + (b - mean * (s * inv))
                                              : (value - mean) * inv * s + b);
  }
  return y;
}

TEST(EncloseNormalization, HoldsEveryFormInFloat32) {
  core::Rng rng(5);
  std::size_t checked = 0;
  for (int round = 0; round < 300; ++round) {
    const double offset = round % 3 == 0 ? 0 : rng.uniform(-20, 20);  // a far mean costs digits
    std::vector<double> x, scale, bias;
    for (std::size_t i = 0; i < kWidth; ++i) {
      x.push_back(core::round_to_type(offset + rng.uniform(-1, 1), DType::float32));
      scale.push_back(core::round_to_type(rng.uniform(-2, 2), DType::float32));
      bias.push_back(core::round_to_type(rng.uniform(-1, 1), DType::float32));
    }
    const auto enclosed = enclose(x, scale, bias, kFloatUnit);
    ASSERT_TRUE(enclosed) << enclosed.error().message;
    const std::vector<double> radius = radius_of((*enclosed)[0]);
    for (const Form form : {Form::two_pass, Form::mean_of_squares, Form::scale_and_shift}) {
      const std::vector<float> y = in_float32(x, scale, bias, form);
      for (std::size_t i = 0; i < kWidth; ++i, ++checked) {
        EXPECT_LE(std::fabs(static_cast<double>(y[i]) - (*enclosed)[0].centre->reals()[i]), radius[i]);
      }
    }
  }
  EXPECT_EQ(checked, std::size_t{300} * 3 * kWidth);
}

TEST(EncloseNormalization, IsNarrowWhereTheMeanIsNear) {
  const auto enclosed = enclose({-1, 1, -1, 1, -1, 1}, {1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0}, kFloatUnit);
  ASSERT_TRUE(enclosed);
  for (const double radius : radius_of((*enclosed)[0])) EXPECT_LT(radius, 40 * kFloatUnit);
}

TEST(EncloseNormalization, KnowsNoBoundWhereTheVarianceDrowns) {
  const auto enclosed =
      enclose({9000, 9001, 9000, 9001, 9000, 9001}, {1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0}, kFloatUnit);
  ASSERT_FALSE(enclosed);
  EXPECT_NE(enclosed.error().message.find("the variance is within its own error"), std::string::npos);
}

}  // namespace
}  // namespace assay::judge
