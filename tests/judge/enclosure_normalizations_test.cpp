// Normalizations in float32, by each of the forms that executors have, lie within their enclosure.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
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

TEST(EncloseNormalization, HoldsEveryChoiceOfUncertainOperands) {
  core::Rng rng(6);
  double most = 0;
  for (int round = 0; round < 300; ++round) {
    const double offset = round % 3 == 0 ? 0 : rng.uniform(-3, 3), uncertainty = round % 2 == 0 ? 0.02 : 0.4;
    std::vector<std::vector<double>> centres(3), radii(3);
    for (std::size_t i = 0; i < kWidth; ++i) {
      for (const auto& [operand, low, high] : {std::tuple(0, offset - 1, offset + 1), {1, -2.0, 2.0}, {2, -1.0, 1.0}}) {
        centres[static_cast<std::size_t>(operand)].push_back(
            core::round_to_type(rng.uniform(low, high), DType::float32));
        radii[static_cast<std::size_t>(operand)].push_back(uncertainty * rng.uniform());
      }
    }
    std::vector<Enclosure> inputs;
    for (std::size_t k = 0; k < 3; ++k) {
      const core::Shape shape = k == 0 ? core::Shape{1, kWidth} : core::Shape{kWidth};
      inputs.push_back(enclosure_around(std::make_shared<const Tensor>(DType::float32, shape, centres[k]), radii[k]));
    }
    const std::vector<const Enclosure*> operands{&inputs[0], &inputs[1], &inputs[2]};
    const auto enclosed = enclose_node(layer_normalization(), 17, operands, {.float_unit = kFloatUnit});
    if (!enclosed) continue;
    const std::vector<double> radius = radius_of((*enclosed)[0]);
    for (int choice = 0; choice < 40; ++choice) {
      std::vector<std::vector<double>> chosen = centres;
      for (std::size_t k = 0; k < 3; ++k) {
        for (std::size_t i = 0; i < kWidth; ++i) {  // corners of the box, and points inside
          const double by = choice % 2 == 0 ? rng.uniform(-1, 1) : rng.uniform() < 0.5 ? -1 : 1;
          chosen[k][i] = core::round_to_type(chosen[k][i] + by * radii[k][i] * (1 - 1e-6), DType::float32);
        }
      }
      const std::vector<float> y = in_float32(chosen[0], chosen[1], chosen[2], Form::two_pass);
      for (std::size_t i = 0; i < kWidth; ++i) {
        const double moved = std::fabs(static_cast<double>(y[i]) - (*enclosed)[0].centre->reals()[i]);
        EXPECT_LE(moved, radius[i]) << "round " << round;
        most = std::max(most, moved / radius[i]);
      }
    }
  }
  EXPECT_GT(most, 0.5) << "a bound far from what is reached would say nothing";
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

TEST(EncloseNorm, HoldsEveryChoiceOfUncertainData) {
  core::Rng rng(7);
  double most = 0;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t p = 1 + round % 2;
    model::Node node;
    node.name = "n";
    node.op_type = "LpNormalization";
    node.inputs = {"x"};
    node.outputs = {"y"};
    node.attributes = {{"p", p}, {"axis", std::int64_t{0}}};
    std::vector<double> x, radius;
    for (std::size_t i = 0; i < 2 * kWidth; ++i) {  // two lines side by side
      x.push_back(core::round_to_type(rng.uniform(-1, 1), DType::float32));
      radius.push_back(0.1 * rng.uniform());
    }
    const core::Shape shape{kWidth, 2};
    const Enclosure input = enclosure_around(std::make_shared<const Tensor>(DType::float32, shape, x), radius);
    const std::vector<const Enclosure*> operands{&input};
    const auto enclosed = enclose_node(node, 17, operands, {.float_unit = kFloatUnit});
    ASSERT_TRUE(enclosed) << enclosed.error().message;
    const std::vector<double> limit = radius_of((*enclosed)[0]);
    for (int choice = 0; choice < 40; ++choice) {
      std::vector<float> chosen, norms(2);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double by = choice % 2 == 0 ? rng.uniform(-1, 1) : rng.uniform() < 0.5 ? -1 : 1;
        chosen.push_back(static_cast<float>(x[i] + by * radius[i] * (1 - 1e-6)));
        norms[i % 2] += p == 1 ? std::fabs(chosen[i]) : chosen[i] * chosen[i];
      }
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float y = chosen[i] / (p == 1 ? norms[i % 2] : std::sqrt(norms[i % 2]));
        const double moved = std::fabs(static_cast<double>(y) - (*enclosed)[0].centre->reals()[i]);
        EXPECT_LE(moved, limit[i]) << "round " << round;
        most = std::max(most, moved / limit[i]);
      }
    }
  }
  EXPECT_GT(most, 0.5);
}

TEST(EncloseNorm, KnowsNoBoundWhereALineMayBeZero) {
  model::Node node;
  node.op_type = "LpNormalization";
  node.inputs = {"x"};
  node.outputs = {"y"};
  const auto enclosed = [&](double radius) {
    const Enclosure input =
        enclosure_around(std::make_shared<const Tensor>(DType::float32, core::Shape{2}, std::vector<double>{0.1, 0}),
                         std::vector<double>{radius, radius});
    const std::vector<const Enclosure*> operands{&input};
    return enclose_node(node, 17, operands, {.float_unit = kFloatUnit}).ok();
  };
  EXPECT_TRUE(enclosed(0.01));
  EXPECT_FALSE(enclosed(0.1));
}

TEST(EncloseBatchNormalization, HoldsEveryChoiceOfUncertainParameters) {
  core::Rng rng(7);
  model::Node node;
  node.name = "n";
  node.op_type = "BatchNormalization";
  node.inputs = {"x", "scale", "bias", "mean", "variance"};
  node.outputs = {"y"};
  node.attributes["epsilon"] = static_cast<double>(kEpsilon);
  double most = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<double>> centres(5), radii(5);
    std::vector<Enclosure> inputs;
    for (std::size_t k = 0; k < 5; ++k) {
      for (std::size_t i = 0; i < kWidth; ++i) {
        centres[k].push_back(core::round_to_type(k == 4 ? rng.uniform(0.5, 2) : rng.uniform(-2, 2), DType::float32));
        radii[k].push_back(round % 4 == 0 && k != 1 ? 0 : 0.1 * rng.uniform());
      }
      const core::Shape shape = k == 0 ? core::Shape{1, kWidth} : core::Shape{kWidth};
      inputs.push_back(enclosure_around(std::make_shared<const Tensor>(DType::float32, shape, centres[k]), radii[k]));
    }
    std::vector<const Enclosure*> operands;
    for (const Enclosure& input : inputs) operands.push_back(&input);
    const auto enclosed = enclose_node(node, 15, operands, {.float_unit = kFloatUnit});
    ASSERT_TRUE(enclosed) << enclosed.error().message;
    const std::vector<double> radius = radius_of((*enclosed)[0]);
    for (int choice = 0; choice < 40; ++choice) {
      for (std::size_t i = 0; i < kWidth; ++i) {
        std::vector<float> chosen;
        for (std::size_t k = 0; k < 5; ++k) {
          const double by = choice % 2 == 0 ? rng.uniform(-1, 1) : rng.uniform() < 0.5 ? -1 : 1;
          chosen.push_back(static_cast<float>(centres[k][i] + by * radii[k][i] * (1 - 1e-6)));
        }
        const float y =
            (chosen[0] - chosen[3]) / std::sqrt(chosen[4] + kEpsilon) * chosen[1] + chosen[2];  // in float32
        const double moved = std::fabs(static_cast<double>(y) - (*enclosed)[0].centre->reals()[i]);
        EXPECT_LE(moved, radius[i]) << "round " << round;
        most = std::max(most, moved / radius[i]);
      }
    }
  }
  EXPECT_GT(most, 0.9) << "a bound far from what is reached would say nothing";
}

}  // namespace
}  // namespace assay::judge
