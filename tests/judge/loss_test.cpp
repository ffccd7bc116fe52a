#include "harness/judge/numerics/loss.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "harness/judge/numerics/headline.hpp"
#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using testing::float32;
using testing::Judged;
using testing::parse;
using testing::reals;
using testing::Tensor;

constexpr std::int64_t kRows = 40, kColumns = 6;

Tensor drawn(core::Rng& rng, core::Shape shape, double low, double high) {
  std::vector<double> values(static_cast<std::size_t>(shape[0] * shape[1]));
  for (double& value : values) value = float32(rng.uniform(low, high));
  return reals(std::move(shape), std::move(values));
}

/// x → MatMul → Relu → MatMul, between quantizers, as ONNX Runtime makes it: the Relu is the clipping of uint8 codes
/// with zero_point 0, and the first MatMul's output has the Relu's name.
struct RemovedRelu {
  core::Rng rng{17};
  Tensor w = drawn(rng, {kColumns, kColumns}, -1, 1), v = drawn(rng, {kColumns, kColumns}, -1, 1);

  [[nodiscard]] model::Model original() const {
    return parse("g (float[40,6] x) => (float[40,6] y) { p = MatMul(x, w) r = Relu(p) y = MatMul(r, v) }",
                 {{"w", w}, {"v", v}});
  }
  [[nodiscard]] model::Model artifact(double relu_scale, bool keeps_relu) const {
    const std::string middle = keeps_relu ? " p = MatMul(xd, w) r = Relu(p)" : " r = MatMul(xd, w)";
    model::Model made = parse(
        "a (float[40,6] x) => (float[40,6] y) { xq = QuantizeLinear(x, xs, sz) xd = DequantizeLinear(xq, xs, sz)" +
            middle + " rq = QuantizeLinear(r, rs, uz) rd = DequantizeLinear(rq, rs, uz) y = MatMul(rd, v) }",
        {{"w", w},
         {"v", v},
         {"xs", Tensor::scalar(DType::float32, float32(2.0 / 127))},
         {"rs", Tensor::scalar(DType::float32, float32(relu_scale))},
         {"sz", codes(DType::int8, {}, {0})},
         {"uz", codes(DType::uint8, {}, {0})}});
    const model::Model named = original();
    for (model::Node& node : made.graph.nodes) {
      if (node.op_type == "Relu") node.name = named.graph.nodes[1].name;
      if (node.op_type == "MatMul") node.name = named.graph.nodes[node.inputs[1] == "w" ? 0 : 2].name;
    }
    return made;
  }
  [[nodiscard]] Judged judged(double relu_scale, bool keeps_relu, const std::vector<Tensor>& inputs) const {
    Judged out(original(), artifact(relu_scale, keeps_relu));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const core::TensorMap fed{{"x", inputs[i]}};
      out.add("set_" + std::to_string(i), fed, reference::execute(*out.artifact, fed).value());
    }
    out.calibrate();
    return out;
  }
};

double figure(const std::vector<Metric>& metrics, const std::string& tensor, const std::string& name) {
  for (const Metric& metric : metrics) {
    if (metric.tensor == tensor && metric.name == name) return metric.value;
  }
  return std::nan("");
}

TEST(Losses, AReluThatBecameTheClippingOfCodesIsReadBehindThem) {
  RemovedRelu net;
  const Tensor x = drawn(net.rng, {kRows, kColumns}, -2, 2);
  for (const bool keeps_relu : {true, false}) {
    Judged judged = net.judged(8.0 / 255, keeps_relu, {x});
    const auto metrics = measure_losses(judged.context(), {});
    EXPECT_GT(figure(metrics, "r", "sqnr_db"), 30) << keeps_relu;
    EXPECT_GE(figure(metrics, "r", "sqnr_loss_db"), 0) << keeps_relu;
    EXPECT_LT(figure(metrics, "r", "sqnr_loss_db"), 10) << keeps_relu;
  }
}

TEST(Losses, WhatIsLostInCodesIsLostAtTheTensorThatHasThem) {
  RemovedRelu net;
  const Tensor x = drawn(net.rng, {kRows, kColumns}, -2, 2);
  Judged fine = net.judged(8.0 / 255, false, {x});
  Judged coarse = net.judged(8.0 / 15, false, {x});
  const auto fine_metrics = measure_losses(fine.context(), {});
  const auto coarse_metrics = measure_losses(coarse.context(), {});
  EXPECT_GT(figure(coarse_metrics, "r", "sqnr_loss_db"), 15 + figure(fine_metrics, "r", "sqnr_loss_db"));
  // The last MatMul is in float and its weights are as they were: whatever it is fed, it loses nothing.
  EXPECT_NEAR(figure(coarse_metrics, "y", "sqnr_loss_db"), 0, 1e-3);
  EXPECT_NEAR(figure(fine_metrics, "y", "sqnr_loss_db"), 0, 1e-3);
}

TEST(Losses, OfTheUsersDataGoOverAllOfThemInAnyOrder) {
  RemovedRelu net;
  const std::vector<Tensor> inputs{drawn(net.rng, {kRows, kColumns}, -2, 2),
                                   drawn(net.rng, {kRows, kColumns}, -0.05, 0.1)};
  Judged one = net.judged(8.0 / 255, false, inputs);
  Judged other = net.judged(8.0 / 255, false, {inputs[1], inputs[0]});
  for (Judged* judged : {&one, &other}) judged->evidence.inputs_source = DataSource::given;
  const auto first = measure_losses(one.context(), {}), second = measure_losses(other.context(), {});
  for (const char* name : {"sqnr_db", "sqnr_loss_db"}) {
    EXPECT_NEAR(figure(first, "r", name), figure(second, "r", name), 1e-9) << name;
  }
  EXPECT_NEAR(figure(first, "y", "sqnr_loss_db"), figure(second, "y", "sqnr_loss_db"), 1e-9);
}

TEST(Headline, IsOfAllDataSetsAndOfTheWorstInAnyOrder) {
  RemovedRelu net;
  const std::vector<Tensor> inputs{drawn(net.rng, {kRows, kColumns}, -2, 2),
                                   drawn(net.rng, {kRows, kColumns}, -0.05, 0.1)};
  Judged one = net.judged(8.0 / 255, false, inputs);
  Judged other = net.judged(8.0 / 255, false, {inputs[1], inputs[0]});
  const auto first = measure_headline(one.context(), nullptr), second = measure_headline(other.context(), nullptr);
  EXPECT_NEAR(figure(first, "y", "whole_sqnr_db"), figure(second, "y", "whole_sqnr_db"), 1e-9);
  EXPECT_NEAR(figure(first, "y", "worst_sqnr_db"), figure(second, "y", "worst_sqnr_db"), 1e-9);
  EXPECT_LT(figure(first, "y", "worst_sqnr_db"), figure(first, "y", "whole_sqnr_db") - 5);
  const auto worst_of = [](const std::vector<Metric>& metrics) {
    return std::ranges::find(metrics, "worst_sqnr_db", &Metric::name)->data_set;
  };
  EXPECT_EQ(worst_of(first), "set_1");
  EXPECT_EQ(worst_of(second), "set_0");
}

}  // namespace
}  // namespace assay::judge
