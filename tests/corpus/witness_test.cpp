#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "harness/corpus/case.hpp"
#include "reference/executor.hpp"
#include "tests/corpus/small_case.hpp"

namespace assay::corpus {
namespace {

constexpr double kLow = -1.2, kHigh = 2.3;
const core::QuantParams kInput{{0.015625}, {-51}, core::DType::int8, std::nullopt};
const core::QuantParams kWeight{{0.0078125}, {0}, core::DType::int8, std::nullopt};
const core::QuantParams kOutput{{0.0712}, {3}, core::DType::int8, std::nullopt};

/// A product of x by the constant w, both of these shapes, whose output is y.
struct Form {
  std::string name, graph, weight_shape;
};

Case case_of(const Form& form) {
  const std::string json = fmt::format(R"j({{"family":"f","title":"t","graph":["agraph {} {{","{}","}}"],)j"
                                       R"j("initializers":{{"w":{{"shape":{},"data":"uniform","range":[-1,1]}}}},)j"
                                       R"j("inputs":{{"x":{{"range":[{},{}],"data":["witness"]}}}}}})j",
                                       form.graph.substr(0, form.graph.find('|')),
                                       form.graph.substr(form.graph.find('|') + 1), form.weight_shape, kLow, kHigh);
  auto cases = parse_family(json, "f.json");
  EXPECT_TRUE(cases) << (cases ? "" : cases.error().message);
  return cases ? cases->front() : Case{};
}

std::vector<double> output_of(const Case& test_case, const core::Tensor& x) {
  const model::Node& node = test_case.model->graph.nodes.front();
  std::vector<const core::Tensor*> inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(name == "x" ? &x : test_case.model->graph.initializer(name));
  }
  const auto outputs = reference::execute_node(node, test_case.model->opset(), inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
  if (!outputs) return {};
  const std::span<const double> values = outputs->front().reals();
  return {values.begin(), values.end()};
}

class Witness : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    const auto drawn = data_set(case_, "witness", {{"x", kInput}, {"w", kWeight}, {"y", kOutput}});
    ASSERT_TRUE(drawn) << drawn.error().message;
    x_ = drawn->at("x");
    y_ = output_of(case_, x_);
    // How much each element of x counts in each of y, by one at a time.
    for (std::int64_t i = 0; i < x_.size(); ++i) {
      std::vector<double> one(static_cast<std::size_t>(x_.size()), 0.0);
      one[static_cast<std::size_t>(i)] = 1;
      counts_.push_back(output_of(case_, core::Tensor(core::DType::float32, x_.shape(), std::move(one))));
    }
  }
  /// Over all elements of y: the largest of what `reached` says of one element, as a share of what `possible` adds up.
  template <typename Reached, typename Possible>
  double best_share(Reached reached, Possible possible) const {
    double best = 0;
    for (std::size_t e = 0; e < y_.size(); ++e) {
      double sum = 0, most = 0;
      for (std::size_t i = 0; i < counts_.size(); ++i) {
        sum += reached(counts_[i][e], x_.reals()[i]);
        most += possible(counts_[i][e]);
      }
      if (most > 0) best = std::max(best, sum / most);
    }
    return best;
  }

  Case case_ = case_of(GetParam());
  core::Tensor x_;
  std::vector<double> y_;
  std::vector<std::vector<double>> counts_;  ///< by element of x, then of y
};

TEST_P(Witness, StaysInTheRange) {
  EXPECT_THAT(std::vector<double>(x_.reals().begin(), x_.reals().end()),
              ::testing::Each(::testing::AllOf(::testing::Ge(kLow - 1e-6), ::testing::Le(kHigh + 1e-6))));
}

TEST_P(Witness, ReachesTheLargestAndTheLeastSum) {
  for (const double sign : {1.0, -1.0}) {
    const double share =
        best_share([sign](double count, double x) { return sign * count * x; },
                   [sign](double count) { return std::max(sign * count * kLow, sign * count * kHigh); });
    EXPECT_NEAR(share, 1, 1e-6) << sign;
  }
}

TEST_P(Witness, ReachesNearlyTheLargestErrorOfTheInputsRounding) {
  const double step = kInput.scale[0];
  for (const double sign : {1.0, -1.0}) {
    const double share =
        best_share([&](double count, double x) { return sign * count * (std::nearbyint(x / step) * step - x); },
                   [&](double count) { return std::fabs(count) * step / 2; });
    EXPECT_GT(share, 0.95) << sign;
    EXPECT_LE(share, 1) << sign;
  }
}

TEST_P(Witness, ComesNextToATieOfTheOutput) {
  const double step = kInput.scale[0], w_step = kWeight.scale[0];
  double nearest = 1;
  for (std::size_t e = 0; e < y_.size(); ++e) {
    double sum = 0;
    bool on_codes = true;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const double x = x_.reals()[i] / step;
      if (counts_[i][e] == 0) continue;
      on_codes = on_codes && x == std::nearbyint(x);
      sum += std::nearbyint(x) * std::nearbyint(counts_[i][e] / w_step);
    }
    const double steps = sum * step * w_step / kOutput.scale[0];
    if (on_codes) nearest = std::min(nearest, std::fabs(steps - std::floor(steps) - 0.5));
  }
  EXPECT_LT(nearest, 5e-3);  // the sums of two products are no finer
}

TEST_P(Witness, IsMadeFromTheScalesOfAllThree) {
  EXPECT_THAT(tensors_behind(case_, "witness"), ::testing::ElementsAre("x", "w", "y"));
  EXPECT_THAT(tensors_behind(case_, "ties"), ::testing::ElementsAre("x"));
  EXPECT_THAT(tensors_behind(case_, "typical"), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Products, Witness,
    ::testing::Values(
        Form{"Conv", "(float[2,3,8,5] x) => (float[2,4,7,3] y)|y = Conv <kernel_shape=[2,3]> (x, w)", "[4,3,2,3]"},
        Form{"ConvInGroups",
             "(float[1,4,11,6] x) => (float[1,6,6,8] y)|y = Conv <kernel_shape=[3,2], strides=[2,1], dilations=[1,2], "
             "pads=[1,2,1,2], group=2> (x, w)",
             "[6,2,3,2]"},
        Form{"ConvTranspose",
             "(float[2,5,4,4] x) => (float[2,3,8,9] y)|y = ConvTranspose <kernel_shape=[4,3], strides=[2,2], "
             "pads=[1,0,1,0]> (x, w)",
             "[5,3,4,3]"},
        Form{"ConvTransposeInGroups",
             "(float[1,4,9] x) => (float[1,6,27] y)|y = ConvTranspose <kernel_shape=[3], strides=[3], group=2> (x, w)",
             "[4,3,3]"},
        Form{"Gemm", "(float[9,11] x) => (float[9,5] y)|y = Gemm (x, w)", "[11,5]"},
        Form{"GemmTransposed", "(float[11,9] x) => (float[9,5] y)|y = Gemm <transA=1, transB=1> (x, w)", "[5,11]"},
        Form{"GemmWithTheWeightOnTheLeft", "(float[11,9] x) => (float[5,9] y)|y = Gemm <transA=1> (w, x)", "[11,5]"},
        Form{"MatMul", "(float[2,4,13] x) => (float[2,4,6] y)|y = MatMul (x, w)", "[13,6]"},
        Form{"MatMulWithTheWeightOnTheLeft", "(float[2,13,4] x) => (float[2,6,4] y)|y = MatMul (w, x)", "[6,13]"}),
    [](const auto& param) { return param.param.name; });

TEST(WitnessOfNoProduct, IsTypical) {
  const auto cases = relu_family("", R"({"range":[-1.2,2.3],"data":["witness"]})");
  const auto drawn = data_set(cases[0], "witness", {});
  ASSERT_TRUE(drawn) << drawn.error().message;
  EXPECT_THAT(std::vector<double>(drawn->at("x").reals().begin(), drawn->at("x").reals().end()),
              ::testing::Each(::testing::AllOf(::testing::Gt(kLow), ::testing::Lt(kHigh))));
}

}  // namespace
}  // namespace assay::corpus
