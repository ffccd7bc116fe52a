#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/core/rng.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

std::vector<double> normal(core::Rng& rng, std::size_t count, double deviation = 1) {
  std::vector<double> values(count);
  for (double& value : values) value = float32(deviation * rng.normal());
  return values;
}

double reach(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::fabs(value));
  return most;
}
double reach(const Tensor& tensor) { return reach(std::vector<double>(tensor.reals().begin(), tensor.reals().end())); }

/// Of 127 codes on either side; `channel` says which of the scales an element has.
template <typename Channel>
std::vector<double> on_codes(std::vector<double> values, std::size_t channels, const Channel& channel, double coarser) {
  std::vector<double> most(channels, 0);
  for (std::size_t i = 0; i < values.size(); ++i) most[channel(i)] = std::max(most[channel(i)], std::fabs(values[i]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = coarser * most[channel(i)] / 127;
    values[i] = float32(std::nearbyint(values[i] / step) * step);
  }
  return values;
}

Tensor scale_of(double most) { return Tensor::scalar(DType::float32, float32(most / 127)); }

/// A tensor of an engine on codes.
std::string rounded(const std::string& to, const std::string& from, const std::string& scale) {
  return " " + to + "q = QuantizeLinear(" + from + ", " + scale + ", z) " + to + " = DequantizeLinear(" + to + "q, " +
         scale + ", z) ";
}

/// Of so many groups of as many channels each, of which six inputs make six outputs.
void judge_groups(std::size_t groups) {
  core::Rng rng(81);
  const std::size_t channels = 6 / groups, of_group = 6 / groups * channels * 4;
  const core::Shape weight_shape{6, static_cast<std::int64_t>(channels), 2, 2};
  std::vector<double> weights = normal(rng, groups * of_group);
  for (std::size_t i = weights.size() / 2; i < weights.size(); ++i) weights[i] *= 0.03;
  const std::string deconv = "ConvTranspose<group=" + std::to_string(groups) + ">";
  const core::TensorMap inputs{{"x", reals({2, 6, 9, 9}, normal(rng, 972))}};
  const model::Model original = parse("g (float[2,6,9,9] x) => (float[2,6,10,10] y) { y = " + deconv + "(x, w) }",
                                      {{"w", reals(weight_shape, weights)}});
  const Tensor wanted = reference::execute(original, inputs).value().at("y");
  const auto judge_by = [&](const std::vector<double>& engine_weights) {
    const model::Model engine = parse("g (float[2,6,9,9] x) => (float[2,6,10,10] y) {" + rounded("a", "x", "s") +
                                          "c = " + deconv + "(a, w)" + rounded("y", "c", "ys") + "}",
                                      {{"w", reals(weight_shape, engine_weights)},
                                       {"s", scale_of(reach(inputs.at("x")))},
                                       {"ys", scale_of(reach(wanted))},
                                       {"z", codes(DType::int8, {}, {0})}});
    return judged_by_outputs(original, inputs, reference::execute(engine, inputs).value()).prediction();
  };
  const auto shared = [&](std::size_t i) { return i / 4 % channels; };
  const auto own = [&](std::size_t i) { return i / of_group * channels + i / 4 % channels; };
  EXPECT_THAT(judge_by(on_codes(weights, channels, shared, 1)), IsEmpty());
  EXPECT_THAT(judge_by(on_codes(weights, 6, own, 1)), IsEmpty());
  EXPECT_THAT(judge_by(on_codes(weights, channels, shared, 3)), Not(IsEmpty()));
}

TEST(Ways, GroupsOfAConvTransposeShareTheirScalesOrNot) { judge_groups(2); }
TEST(Ways, ADepthwiseConvTransposeHasAScaleForEachChannelOrOne) { judge_groups(6); }

TEST(Ways, ABatchNormalizationBehindAMatrixProductIsFoldedOrNot) {
  core::Rng rng(82);
  const std::vector<double> weights = normal(rng, 50 * 30, 0.1), gains = normal(rng, 30), shifts = normal(rng, 30);
  const core::TensorMap inputs{{"x", reals({40, 50}, normal(rng, 2000))}};
  const auto graph = [&](const std::string& body, const std::vector<double>& w, double least, double most) {
    return parse("g (float[40,50] x) => (float[40,30] y) { " + body + " }",
                 {{"w", reals({50, 30}, w)},
                  {"gamma", reals({30}, gains)},
                  {"beta", reals({30}, shifts)},
                  {"mean", reals({30}, std::vector<double>(30, 0))},
                  {"variance", reals({30}, std::vector<double>(30, 1))},
                  {"s", scale_of(reach(inputs.at("x")))},
                  {"ts", scale_of(least)},
                  {"ys", scale_of(most)},
                  {"z", codes(DType::int8, {}, {0})}});
  };
  const std::string norm = "BatchNormalization<epsilon=0.0>(";
  const model::Model original = graph("t = Gemm(x, w) y = " + norm + "t, gamma, beta, mean, variance)", weights, 1, 1);
  const core::TensorMap wanted = reference::execute(original, inputs).value();
  const double most = reach(wanted.at("y"));
  const model::Model product = graph("y = Gemm(x, w)", weights, 1, 1);
  const double least = reach(reference::execute(product, inputs).value().at("y"));
  const auto column = [](std::size_t i) { return i % 30; };
  const auto folded = [&](double coarser) {
    std::vector<double> w = weights;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] *= gains[column(i)];
    const model::Model engine = graph(rounded("a", "x", "s") + "m = Gemm(a, w, beta)" + rounded("y", "m", "ys"),
                                      on_codes(w, 30, column, coarser), least, most);
    return judged_by_outputs(original, inputs, reference::execute(engine, inputs).value()).prediction();
  };
  const auto unfolded = [&](double coarser) {
    const model::Model engine = graph(rounded("a", "x", "s") + "m = Gemm(a, w)" + rounded("t", "m", "ts") +
                                          "n = " + norm + "t, gamma, beta, mean, variance)" + rounded("y", "n", "ys"),
                                      on_codes(weights, 30, column, coarser), least, most);
    return judged_by_outputs(original, inputs, reference::execute(engine, inputs).value()).prediction();
  };
  EXPECT_THAT(folded(1), IsEmpty());
  EXPECT_THAT(unfolded(1), IsEmpty());
  EXPECT_THAT(folded(3), Not(IsEmpty()));
  EXPECT_THAT(unfolded(3), Not(IsEmpty()));
}

/// Which values around a node in float are rounded is not said; a coarser step shows all the same.
TEST(Ways, AroundANodeInFloatValuesStayRealOrNot) {
  core::Rng rng(83);
  const std::vector<double> first = normal(rng, 50 * 50, 0.1), second = normal(rng, 50 * 30, 0.1);
  const core::TensorMap inputs{{"x", reals({40, 50}, normal(rng, 2000))}};
  const auto graph = [&](const std::string& body, const std::vector<double>& w, double middle, double most) {
    return parse("g (float[40,50] x) => (float[40,30] y) { " + body + " }", {{"v", reals({50, 50}, first)},
                                                                             {"w", reals({50, 30}, w)},
                                                                             {"s", scale_of(reach(inputs.at("x")))},
                                                                             {"ts", scale_of(middle)},
                                                                             {"ys", scale_of(most)},
                                                                             {"z", codes(DType::int8, {}, {0})}});
  };
  const model::Model original = graph("t = MatMul(x, v) y = MatMul(t, w)", second, 1, 1);
  const double most = reach(reference::execute(original, inputs).value().at("y"));
  const model::Model front =
      parse("g (float[40,50] x) => (float[40,50] t) { t = MatMul(x, v) }", {{"v", reals({50, 50}, first)}});
  const double middle = reach(reference::execute(front, inputs).value().at("t"));
  const auto column = [](std::size_t i) { return i % 30; };
  const auto judge_by = [&](bool rounds_input, bool rounds_output, double coarser) {
    const model::Model engine = graph(
        (rounds_input ? rounded("a", "x", "s") + "m = MatMul(a, v)" : "m = MatMul(x, v)") + rounded("t", "m", "ts") +
            "n = MatMul(t, w)" + (rounds_output ? rounded("y", "n", "ys") : " y = Identity(n)"),
        on_codes(second, 30, column, coarser), middle, most);
    Judged judged = judged_by_outputs(original, inputs, reference::execute(engine, inputs).value());
    judged.evidence.options.precision[original.graph.nodes[0].name] = "fp32";
    return judged.prediction();
  };
  for (const bool in : {false, true}) {
    for (const bool out : {false, true}) {
      EXPECT_THAT(judge_by(in, out, 1), IsEmpty()) << in << out;
      EXPECT_THAT(judge_by(in, out, 3), Not(IsEmpty())) << in << out;
    }
  }
}

}  // namespace
}  // namespace assay::judge::testing
