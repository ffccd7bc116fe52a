#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/judge/audit/assumed_params.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<double> normal(core::Rng& rng, std::size_t count, double deviation = 1) {
  std::vector<double> values(count);
  for (double& value : values) value = float32(deviation * rng.normal());
  return values;
}

std::string rounded(const std::string& to, const std::string& from, const std::string& scale) {
  return " " + to + "q = QuantizeLinear(" + from + ", " + scale + ", z) " + to + " = DequantizeLinear(" + to + "q, " +
         scale + ", z) ";
}

/// Columns on 127 codes either side, `coarser` times as far apart.
Tensor on_codes(const Tensor& weight, double coarser) {
  Tensor result = weight;
  const auto columns = static_cast<std::size_t>(weight.shape()[1]);
  for (std::size_t c = 0; c < columns; ++c) {
    double most = 0;
    for (std::size_t i = c; i < weight.reals().size(); i += columns)
      most = std::max(most, std::fabs(weight.reals()[i]));
    const double step = coarser * most / 127;
    for (std::size_t i = c; i < weight.reals().size(); i += columns)
      result.reals()[i] = float32(std::nearbyint(weight.reals()[i] / step) * step);
  }
  return result;
}

/// Two matrix products behind each other on `rows` rows, and an engine of their symmetric codes over several draws of
/// the data.
struct Classifier {
  core::Rng rng{95};
  std::int64_t rows = 1;
  std::string tail;  ///< what makes y of the second product l
  std::string type = "float";
  Tensor w = reals({60, 40}, normal(rng, 2400, 0.1)), v = reals({40, 10}, normal(rng, 400, 0.1));

  [[nodiscard]] model::Model graph(const std::string& body, const Tensor& first, const Tensor& second,
                                   const std::vector<double>& reaches) const {
    const std::string n = std::to_string(rows), shape = type == "float" ? n + ",10" : n;
    const auto scale = [&](std::size_t i) { return Tensor::scalar(DType::float32, float32(reaches[i] / 127)); };
    return parse("g (float[" + n + ",60] x) => (" + type + "[" + shape + "] y) { " + body + tail + " }",
                 {{"w", first},
                  {"v", second},
                  {"s", scale(0)},
                  {"ts", scale(1)},
                  {"ls", scale(2)},
                  {"z", codes(DType::int8, {}, {0})}});
  }

  /// Over `draws` draws, where the engine has the second product's codes `coarser`, and multiplies the first by `gain`
  /// on all draws but the first.
  Judged judged(std::size_t draws, double gain, double coarser) {
    std::vector<core::TensorMap> inputs;
    for (std::size_t i = 0; i < draws; ++i)
      inputs.push_back({{"x", reals({rows, 60}, normal(rng, static_cast<std::size_t>(rows) * 60))}});
    const model::Model original = graph("t = MatMul(x, w) l = MatMul(t, v)", w, v, {1, 1, 1});
    std::vector<double> reaches(3, 0);
    for (const core::TensorMap& feed : inputs) {
      reference::RunOptions options;
      options.observe = [&](const std::string& name, const Tensor& value) {
        const std::size_t at = name == "x" ? 0 : name == "t" ? 1 : 2;
        if (name != "x" && name != "t" && name != "l" && !(tail.empty() && name == "l")) return;
        for (const double each : value.reals()) reaches[at] = std::max(reaches[at], std::fabs(each));
      };
      EXPECT_TRUE(reference::execute(original, feed, options).ok());
    }
    const auto engine = [&](double times) {
      Tensor first = on_codes(w, 1);
      for (double& value : first.reals()) value *= times;
      return graph(rounded("a", "x", "s") + "m = MatMul(a, w)" + rounded("t", "m", "ts") + "n = MatMul(t, v)" +
                       rounded("l", "n", "ls"),
                   first, on_codes(v, coarser), reaches);
    };
    Judged judged(original, original);
    judged.opaque = true;
    state_policy(judged.evidence.converter.policy);
    judged.evidence.options.symmetric = true;
    for (std::size_t i = 0; i < draws; ++i) {
      judged.add(i == 0 ? "typical" : "typical_" + std::to_string(i + 1), inputs[i],
                 reference::execute(engine(i == 0 ? 1 : gain), inputs[i]).value());
    }
    judged.calibrate();
    return judged;
  }
};

TEST(FewOutputs, AreJudgedOverAllDrawsOfTheData) {
  Classifier classifier;
  classifier.tail = " y = Identity(l)";
  EXPECT_THAT(classifier.judged(8, 1, 1).prediction(), IsEmpty());
  const std::vector<Finding> found = classifier.judged(8, 1.05, 1).prediction();
  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_THAT(found.front().message, HasSubstr("8 draws"));
}

TEST(FewOutputs, IntegersAreThoseThatTheRoundingsDecide) {
  Classifier classifier;
  classifier.rows = 400;
  classifier.type = "int64";
  classifier.tail = " y = ArgMax<axis=1, keepdims=0>(l)";
  EXPECT_THAT(classifier.judged(1, 1, 1).prediction(), IsEmpty());
  const std::vector<Finding> found = classifier.judged(1, 1, 12).prediction();
  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_THAT(found.front().message, HasSubstr("not what the known scales and roundings give"));
}

/// What method mse leaves open: a range may be cut, as far as that costs no more than it saves.
TEST(OpenRanges, ReachFromTheWholeRangeToTheNarrowestThatASearchEndsWith) {
  Classifier classifier;
  classifier.tail = " y = Identity(l)";
  Judged judged = classifier.judged(8, 1, 1);
  judged.evidence.options.method = converters::Method::mse;
  CalibrationRanges calibration;
  for (const auto& values : judged.reference) {
    for (const auto& [name, tensor] : *values) {
      if (!tensor.is_real()) continue;
      auto& all = calibration.sorted_values[name];
      all.insert(all.end(), tensor.reals().begin(), tensor.reals().end());
    }
  }
  for (auto& [name, all] : calibration.sorted_values) std::ranges::sort(all);
  calibration.ranges = judged.ranges;
  const auto [audited, open] = assume_params(judged.context(), calibration);
  ASSERT_TRUE(open.has_value());
  const double whole = audited.at("x").scale.front(), least = open->narrowest.at("x").scale.front();
  EXPECT_GE(open->widest.at("x").scale.front(), whole);
  EXPECT_LT(least, 0.97 * whole);
  EXPECT_GT(least, 0.3 * whole) << "a third of the range cuts off what it saves many times over";
  judged.evidence.options.method = converters::Method::minmax;
  EXPECT_FALSE(assume_params(judged.context(), calibration).second.has_value()) << "nothing is open";
}

}  // namespace
}  // namespace assay::judge::testing
