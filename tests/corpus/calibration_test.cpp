#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/corpus/small_case.hpp"

namespace assay::corpus {
namespace {

struct Extreme {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

Extreme extreme_of(const core::Tensor& tensor) {
  Extreme out;
  for (const double x : tensor.reals()) {
    out.low = std::min(out.low, x);
    out.high = std::max(out.high, x);
  }
  return out;
}

std::vector<core::TensorMap> batches_of(const Case& test_case) {
  auto batches = calibration_batches(test_case, test_case.calibration);
  EXPECT_TRUE(batches) << (batches ? "" : batches.error().message);
  return batches ? std::move(*batches) : std::vector<core::TensorMap>{};
}

TEST(CalibrationBatches, ReachBothEndsExactlyInDifferentBatchesAndNotInTheLast) {
  const auto cases = relu_family(R"(,"calibration":{"batches":6,"seed":3})", R"({"range":[-1.5,4]})");
  const auto batches = batches_of(cases[0]);
  ASSERT_EQ(batches.size(), 6U);
  std::vector<std::size_t> low_at, high_at;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const Extreme extreme = extreme_of(batches[i].at("x"));
    EXPECT_GE(extreme.low, -1.5);
    EXPECT_LE(extreme.high, 4.0);
    if (extreme.low == -1.5) low_at.push_back(i);
    if (extreme.high == 4.0) high_at.push_back(i);
  }
  ASSERT_EQ(low_at.size(), 1U);
  ASSERT_EQ(high_at.size(), 1U);
  EXPECT_NE(low_at, high_at);
  EXPECT_LT(std::max(low_at[0], high_at[0]), 5U);
}

TEST(CalibrationBatches, AreTheSameEveryTimeAndDifferForAnotherSeed) {
  const auto cases = relu_family("", R"({"range":[-1.5,4]})");
  EXPECT_EQ(batches_of(cases[0]), batches_of(cases[0]));
  FeedSpec other = cases[0].calibration;
  other.seed += 1;
  EXPECT_NE(batches_of(cases[0]), *calibration_batches(cases[0], other));
}

TEST(CalibrationBatches, LeaveDroppedInputsOut) {
  const auto cases = relu_family(R"(,"calibration":{"drop":["x"]})", "{}");
  for (const auto& batch : batches_of(cases[0])) EXPECT_TRUE(batch.empty());
}

TEST(CalibrationBatches, ChangeTheBatchSizeOnRequestAndTheLastOneAlone) {
  const auto cases = relu_family(R"(,"calibration":{"batches":3,"batch":4,"last_batch":1})", "{}");
  const auto batches = batches_of(cases[0]);
  EXPECT_EQ(batches[0].at("x").shape(), (core::Shape{4, 3, 5}));
  EXPECT_EQ(batches[1].at("x").shape(), (core::Shape{4, 3, 5}));
  EXPECT_EQ(batches[2].at("x").shape(), (core::Shape{1, 3, 5}));
}

TEST(CalibrationBatches, AreNarrowerOnRequestAndReachTheEndsInTheOthers) {
  const auto cases = relu_family(R"(,"calibration":{"batches":4,"widths":[1,0.1,1,0.1]})", R"({"range":[-1.5,4]})");
  const auto batches = batches_of(cases[0]);
  for (const std::size_t narrow : {1U, 3U}) {
    EXPECT_GE(extreme_of(batches[narrow].at("x")).low, -0.15);
    EXPECT_LE(extreme_of(batches[narrow].at("x")).high, 0.4);
  }
  const Extreme first = extreme_of(batches[0].at("x")), third = extreme_of(batches[2].at("x"));
  EXPECT_EQ(std::min(first.low, third.low), -1.5);
  EXPECT_EQ(std::max(first.high, third.high), 4.0);
}

TEST(CalibrationBatches, PutPoisonIntoTheFirstBatchOnly) {
  const auto cases = relu_family(R"(,"calibration":{"batches":2,"poison":{"x":"NaN"}})", "{}");
  const auto batches = batches_of(cases[0]);
  const auto has_nan = [](const core::Tensor& tensor) {
    return std::any_of(tensor.reals().begin(), tensor.reals().end(), [](double x) { return std::isnan(x); });
  };
  EXPECT_TRUE(has_nan(batches[0].at("x")));
  EXPECT_FALSE(has_nan(batches[1].at("x")));
}

TEST(CalibrationBatches, PlaceOneOutlierBeyondTheRange) {
  const auto cases = relu_family("", R"({"range":[-1.5,4],"outlier":-60})");
  int seen = 0;
  for (const auto& batch : batches_of(cases[0])) {
    for (const double x : batch.at("x").reals()) seen += x == -60 ? 1 : 0;
  }
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace assay::corpus
